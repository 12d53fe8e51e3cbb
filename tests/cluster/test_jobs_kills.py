"""Real processes are killed in the middle of real runs, and the rows are counted.

The engine is scripted (it knows the walkthroughs), but lives in its own Ray actor like any other.
"""

import json
import signal

import pytest
from killable_runs import (
    CI,
    counted_once,
    ended,
    engines,
    family,
    finished,
    gone,
    rows,
    started,
    wait_for,
)

pytestmark = pytest.mark.cluster

SLOW = ("-s", "engine.delay_s=0.05", "-s", "execution.concurrency=4")
PAIRS = 8 * 2 * 2
EXPERTS = 8


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    run = tmp_path_factory.mktemp("memory") / "run"
    with started("build_memory", CI / "build_memory.yaml", run=run) as process:
        printed = finished(process, run)
    assert "chunks by partition" in printed
    assert "raylet" not in printed  # nor any other word about engines that ended as they should
    return run


def evaluation(memory):
    return ("-s", f"memory={memory}", *SLOW)


def played(run):
    return [row for row in rows(run) if row["arm"] != "expert"]


def check_complete(run):
    """Every pair was played in each arm, none twice, and none was ended by the machinery."""
    stored = counted_once(run)
    assert len(stored) == PAIRS + EXPERTS
    assert {row["stop_reason"] for row in stored} <= {"solved", "step_limit"}
    summary = json.loads((run / "summary.json").read_text())
    assert [arm["task_runs"] for arm in summary["arms"]] == [16, 16, 8]
    assert summary["incomplete_task_runs"] == 0


def test_a_killed_driver_leaves_no_process_and_its_run_goes_on(memory, tmp_path):
    run = tmp_path / "run"
    options = evaluation(memory)
    with started("evaluate_agents", CI / "evaluate_agents.yaml", *options, run=run) as process:
        wait_for(lambda: len(played(run)) >= 5, process)
        below = family(process)
        assert engines(process)
        process.kill()
        process.wait(30)
        wait_for(lambda: gone(below))
    before = rows(run)
    assert PAIRS + EXPERTS > len(before) >= 5 + EXPERTS
    with started("evaluate_agents", run, run=run) as process:
        finished(process, run)
    check_complete(run)
    assert rows(run)[: len(before)] == before


def test_a_killed_engine_is_replaced_and_its_episodes_are_played_again(memory, tmp_path):
    run = tmp_path / "run"
    options = evaluation(memory)
    with started("evaluate_agents", CI / "evaluate_agents.yaml", *options, run=run) as process:
        wait_for(lambda: len(played(run)) >= 3, process)
        (engine,) = engines(process)
        engine.kill()
        finished(process, run)
    check_complete(run)
    lost = counted_once(run, "failed_attempts")
    assert 1 <= len(lost) <= 4
    assert {row["stop_reason"] for row in lost} == {"engine_error"}


def test_an_engine_that_hangs_is_killed_after_its_deadline(memory, tmp_path):
    run = tmp_path / "run"
    options = (*evaluation(memory), "-s", "execution.request_deadline_s=3")
    with started("evaluate_agents", CI / "evaluate_agents.yaml", *options, run=run) as process:
        wait_for(lambda: len(played(run)) >= 3, process)
        (engine,) = engines(process)
        engine.send_signal(signal.SIGSTOP)
        wait_for(lambda: gone([engine]), process)
        finished(process, run)
    check_complete(run)
    assert counted_once(run, "failed_attempts")


@pytest.mark.parametrize("victim", ["driver", "engine"])
def test_a_build_killed_in_a_partition_counts_each_episode_once(victim, tmp_path):
    run, config = tmp_path / "run", CI / "build_memory.yaml"
    options = ("-s", "tasks=8", "-s", "engine.delay_s=0.05", "-s", "execution.concurrency=2")
    with started("build_memory", config, *options, run=run) as process:
        wait_for(lambda: len(rows(run)) >= 5, process)
        below = family(process)
        (process if victim == "driver" else engines(process)[0]).kill()
        if victim == "driver":
            process.wait(30)
            wait_for(lambda: gone(below))
        else:
            finished(process, run)
    with started("build_memory", run, run=run) as process:
        finished(process, run)
    episodes = counted_once(run)
    assert len(episodes) == 8
    assert {row["stop_reason"] for row in episodes} <= {"solved", "step_limit"}
    assert [row["episodes"] for row in counted_once(run, "partitions")] == [4, 4]
    grown = [row["partition"] for row in counted_once(run, "growth")]
    assert grown == [0, 1, 2]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_cleanly_and_says_how_to_go_on(number, memory, tmp_path):
    run = tmp_path / "run"
    options = evaluation(memory)
    with started("evaluate_agents", CI / "evaluate_agents.yaml", *options, run=run) as process:
        wait_for(lambda: len(played(run)) >= 3, process)
        below = family(process)
        process.send_signal(number)
        printed = ended(process, run)
        assert process.returncode == 130, printed
        wait_for(lambda: gone(below))
    told = " ".join(printed.split())
    assert f"Go on with: python pipelines/evaluate_agents.py {run}" in told
    with started("evaluate_agents", run, run=run) as process:
        finished(process, run)
    check_complete(run)
