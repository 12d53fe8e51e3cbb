"""Which games a run plays."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collegium.core import ConfigError, NotFoundError, Task
from collegium.environments.household import ENGINE, GRAMMAR_DIGEST
from collegium.runtime.jobs.configs import GamesConfig
from collegium.runtime.jobs.games import local_folder, open_games, select_tasks, spread
from collegium.store import RunDirectory


def tasks(sizes):
    return [
        Task(environment="household", task_id=f"{kind}/{i}", task_type=kind, split="train")
        for kind, size in sizes.items()
        for i in range(size)
    ]


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9)),
    st.integers(0, 60),
    st.integers(0, 3),
)
def test_a_limit_spreads_over_the_types_and_smaller_ones_are_part_of_larger(sizes, limit, seed):
    every = tasks(sizes)
    chosen = spread(every, limit, seed)
    assert len(chosen) == min(limit, len(every))
    assert chosen == spread(every[::-1], limit, seed)
    assert {t.task_id for t in spread(every, limit // 2, seed)} <= {t.task_id for t in chosen}
    counts = Counter(task.task_type for task in chosen)
    for kind, size in sizes.items():
        assert counts[kind] == size or counts[kind] >= max(counts.values(), default=0) - 1


def test_generated_games_are_written_once_and_the_splits_differ(tmp_path):
    config = GamesConfig(generated={"count": 6, "seed": 3}, splits=("generated_train",))
    run = RunDirectory(str(tmp_path)).open(config)
    store = open_games(config, run)
    (tmp_path / "games" / "mark").touch()
    assert open_games(config, run).root == store.root
    assert (tmp_path / "games" / "mark").exists()
    train = select_tasks(config, store)
    assert len(train) == 6
    assert {task.source for task in train} == {"generated"}
    test = config.model_copy(update={"splits": ("generated_test",)})
    other_run = RunDirectory(str(tmp_path / "other")).open(test)
    other = select_tasks(test, open_games(test, other_run))
    assert not {t.task_id for t in train} & {t.task_id for t in other}
    noted, others = (r.attempts()[-1].versions for r in (run, other_run))
    assert noted["game_data"] != others["game_data"]
    assert (noted["grammar"], noted["evaluator"]) == (GRAMMAR_DIGEST, ENGINE)


def test_unfinished_games_are_written_anew(tmp_path):
    config = GamesConfig(generated={"count": 2}, splits=("generated_test",))
    (tmp_path / ".games.unfinished" / "json_2.1.1" / "generated_test" / "x").mkdir(parents=True)
    store = open_games(config, RunDirectory(str(tmp_path)).open(config))
    assert len(select_tasks(config, store)) == 2


def test_missing_games_say_what_to_run(tmp_path, monkeypatch):
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    with pytest.raises(NotFoundError, match="collegium data household"):
        open_games(GamesConfig(splits=("train",)), RunDirectory(str(tmp_path)))


def test_folders_beside_the_rows_need_a_disk(tmp_path):
    with pytest.raises(ConfigError, match="on a disk"):
        local_folder(RunDirectory("memory://run"), "games")
    assert local_folder(RunDirectory(f"file://{tmp_path}"), "games") == tmp_path / "games"
