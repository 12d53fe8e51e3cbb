"""A pipeline on the real engine: SmolLM2 on vLLM in a Ray actor, killed in the middle."""

import pytest
import yaml
from killable_runs import counted_once, engines, finished, rows, started, wait_for

pytestmark = [pytest.mark.integration, pytest.mark.cluster]

CONFIG = {
    "pipeline": "evaluate_agents",
    "agents": [{"id": "plain", "model": "smollm2-135m-instruct"}],
    "engine": {"kind": "vllm", "max_model_len": 1024, "kv_cache_gb": 0.5},
    "games": {"generated": {"count": 6, "seed": 2}, "splits": ["generated_test"]},
    "arms": ["no_retrieval", "expert"],
    "loop": {"step_limit": 12},
    "execution": {"concurrency": 2},
}


def test_a_killed_vllm_is_replaced_and_every_episode_counts_once(tmp_path):
    config, run = tmp_path / "config.yaml", tmp_path / "run"
    config.write_text(yaml.safe_dump(CONFIG))
    with started("evaluate_agents", config, run=run) as process:
        wait_for(lambda: len(rows(run)) >= 6 + 2, process)
        (engine,) = engines(process)
        engine.kill()
        finished(process, run)
    episodes = [row for row in counted_once(run) if row["arm"] == "no_retrieval"]
    assert len(episodes) == 6
    assert {row["stop_reason"] for row in episodes} <= {"solved", "step_limit"}
    assert 1 <= len(counted_once(run, "failed_attempts")) <= 2
    assert all(row["usage"]["calls"] for row in episodes)
    assert sum(row["usage"]["cached_tokens"] for row in episodes) > 0
