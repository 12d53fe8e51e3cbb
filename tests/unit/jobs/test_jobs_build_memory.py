"""The construction job from pre-population to D_P, on a scripted engine."""

import asyncio
import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from collegium.config import load
from collegium.core import BudgetExceededError, EngineError, NotFoundError
from collegium.environments.household import GameStore
from collegium.evaluation import GROWTH, GrowthRow, read_episodes
from collegium.experience import ExperienceMemory
from collegium.llm import ReplayConfig
from collegium.runtime.jobs.build_memory import PARTITIONS, PartitionRow, build_memory
from collegium.runtime.jobs.configs import BuildMemoryConfig, RecordingsSource
from collegium.runtime.jobs.memory import built_memory
from collegium.runtime.jobs.pre_population import SOURCES
from collegium.store import RunDirectory

CI = Path(__file__).resolve().parents[3] / "configs" / "ci"


def growth(run):
    rows = [{k: v for k, v in row.items() if k != "key"} for row in run.rows(GROWTH)]
    return [GrowthRow.model_validate(row) for row in rows]


def test_memory_grows_by_what_the_agents_solved(build):
    built, run = build()
    assert built.partitions == 2
    assert list(built.chunks_by_partition) == sorted(built.chunks_by_partition)
    rows = growth(run)
    assert [row.chunks for row in rows] == list(built.chunks_by_partition)
    assert set(rows[0].chunks_by_producer) == {"explorer"}
    solved = [e for e in read_episodes(run) if e.trajectory.success]
    assert solved
    assert {e.trajectory.producer for e in solved} <= set(rows[-1].chunks_by_producer)
    memory = built_memory(run)
    failed = {e.trajectory.trajectory_id for e in read_episodes(run) if not e.trajectory.success}
    assert not failed & {chunk.trajectory_id for chunk in memory.as_of(2).chunks()}
    assert failed <= {t.trajectory_id for t in memory.trajectories.read()}


def test_each_task_is_played_once_without_retrieval_and_the_wheel_keeps_turning(build):
    _, run = build()
    episodes = list(read_episodes(run))
    assert len(episodes) == 4
    assert len({e.trajectory.task.task_id for e in episodes}) == 4
    assert {e.arm for e in episodes} == {"no_retrieval"}
    assert not any(step.guidance for e in episodes for step in e.trajectory.steps)
    assert Counter(e.partition for e in episodes) == {1: 2, 2: 2}
    for partition in (1, 2):
        played = [e.trajectory.producer for e in episodes if e.partition == partition]
        assert sorted(played) == ["scripted-a", "scripted-b"]


def test_what_became_of_each_source_and_partition_is_stored(build):
    _, run = build()
    (source,) = run.rows(SOURCES)
    assert source["source"] == "explorer"
    assert source["outcomes"] == {"won": 4, "failed": 0}
    assert [row["episodes"] for row in run.rows(PARTITIONS)] == [2, 2]


def test_a_second_start_changes_nothing(build):
    first, run = build()
    rows = [row["key"] for row in run.rows("episodes")]
    again, _ = build()
    assert again == first
    assert [row["key"] for row in run.rows("episodes")] == rows


def test_a_stopped_build_goes_on_with_the_open_partition(build):
    with pytest.raises(BudgetExceededError):
        build("execution.budget.max_tokens=400", "execution.concurrency=1")
    built, run = build()
    assert built.partitions == 2
    keys = [row["key"] for row in run.rows("episodes")]
    assert len(keys) == len(set(keys)) == 4
    assert [row.partition for row in growth(run)] == [0, 1, 2]


def partitions(run):
    return [
        PartitionRow.model_validate({k: v for k, v in row.items() if k != "key"})
        for row in run.rows(PARTITIONS)
    ]


@pytest.mark.parametrize("moment", ["before sealing", "before the row"])
def test_a_kill_around_the_seal_loses_no_row_and_no_count(build, monkeypatch, moment):
    expected = partitions(build(name="unharmed")[1])
    assert [row.chunks > 0 for row in expected] == [True, True]
    place, name = {
        "before sealing": (ExperienceMemory, "seal"),
        "before the row": (RunDirectory, "append"),
    }[moment]
    true = getattr(place, name)

    def dies(self, what, *rest):
        if what in (1, PARTITIONS):
            raise KeyboardInterrupt
        return true(self, what, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(place, name, dies)
        with pytest.raises(KeyboardInterrupt):
            build()
    _, run = build()
    assert partitions(run) == expected
    assert [row.partition for row in growth(run)] == [0, 1, 2]


def test_failures_of_the_machinery_are_counted_apart(build, host_of):
    class Broken:
        model = "broken"

        async def complete(self, request):
            raise EngineError("out of order")

        async def close(self):
            pass

    _, run = build(host=host_of(lambda engine: Broken()))
    told = [(row.episodes, row.machinery_failures, row.chunks) for row in partitions(run)]
    assert told == [(2, 2, 0), (2, 2, 0)]


def test_without_partitions_the_memory_is_its_pre_population(build):
    built, run = build("partitions=0")
    assert built.partitions == 0
    assert not list(read_episodes(run))


def test_recordings_enter_as_far_as_they_win_again(build, tmp_path):
    _, run = build(name="games-only")
    store = GameStore(Path(run.path) / "games")
    lines = []
    for number, task in enumerate(store.tasks("generated_train")[:2]):
        game = store.load(task)
        steps = game.walkthrough if number == 0 else game.walkthrough[:-1]
        lines.append(
            {
                "source": "logs",
                "agent": "someone",
                "split": "generated_train",
                "task_id": task.task_id,
                "goal": game.task.goal,
                "initial_observation": "",
                "success": True,
                "steps": [{"action": action, "kind": "command"} for action in steps],
            }
        )
    file = tmp_path / "recordings.jsonl.gz"
    file.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    source = f"pre_population=[{{kind: recordings, path: {file}, split: generated_train}}]"
    _, run = build(source, name="recorded")
    (row,) = run.rows(SOURCES)
    assert row["outcomes"] == {"accepted": 1, "not_won": 1}
    assert growth(run)[0].chunks_by_producer.keys() == {"someone"}


def test_recordings_of_the_shared_data_are_named_or_left_out(monkeypatch, tmp_path):
    expert = {"kind": "explorer", "tasks": 4}
    config = BuildMemoryConfig.model_validate(
        {
            "agents": [{"id": "a", "model": "m"}],
            "pre_population": [expert, {"kind": "recordings"}],
        }
    )
    monkeypatch.delenv("COLLEGIUM_SHARED_DATA", raising=False)
    assert [source.kind for source in config.resolved().pre_population] == ["explorer"]
    monkeypatch.setenv("COLLEGIUM_SHARED_DATA", str(tmp_path))
    assert [source.kind for source in config.resolved().pre_population] == ["explorer"]
    file = tmp_path / "alfworld" / "trajectories.jsonl.gz"
    file.parent.mkdir()
    file.touch()
    assert config.resolved().pre_population[1] == RecordingsSource(path=str(file))


def test_recordings_that_are_named_must_be_there(build, tmp_path):
    source = f"kind: recordings, split: generated_train, path: {tmp_path}/none.gz"
    with pytest.raises(NotFoundError, match=r"no recordings at .*none\.gz"):
        build(f"pre_population=[{{{source}}}]")


def test_a_recorded_run_can_be_replayed_without_its_engine(new_context, tmp_path):
    def episodes(config, name):
        context = new_context(config, name)
        asyncio.run(build_memory(config, context))
        return {e.key: e.trajectory.model_dump(mode="json") for e in read_episodes(context.run)}

    folder = str(tmp_path / "recordings")
    config = load(BuildMemoryConfig, [CI / "build_memory.yaml"], [f"engine.record={folder}"])
    played = episodes(config, "played")
    replayed = config.model_copy(update={"engine": ReplayConfig(path=folder)})
    assert episodes(replayed, "replayed") == played
