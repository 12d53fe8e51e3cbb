"""Real processes are killed while a real run labels; what was acknowledged is counted afterwards.

Every row that stands in the run directory when something is killed was acknowledged. It must still
be there at the end, once, and so must every other unit of work.
"""

from collections import Counter

import pytest
from killable_runs import CI, counted_once, engines, family, finished, gone, rows, started, wait_for

pytestmark = pytest.mark.cluster

GAMES, POINTS, RANKS = 4, 2, 3
CONFIG = CI / "label_utility.yaml"
SLOW = (
    *("-s", f"tasks={GAMES}"),
    *("-s", "engine.delay_s=0.05"),
    *("-s", "execution.concurrency=4"),
)
EPISODES = {
    "no_retrieval": GAMES,
    "future": GAMES * POINTS * RANKS,
    "control": GAMES * POINTS,
}


def branches(run):
    return [row for row in rows(run) if row["arm"] != "no_retrieval"]


def check_complete(run, acknowledged):
    """Every unit is there once, whatever was acknowledged included, and each future has a label."""
    episodes = counted_once(run)
    assert Counter(row["arm"] for row in episodes) == EPISODES
    assert {row["stop_reason"] for row in episodes} <= {"solved", "step_limit"}
    assert [row for row in episodes if row["key"] in acknowledged] == list(acknowledged.values())
    labels = counted_once(run, "labels")
    assert len(labels) == EPISODES["future"]
    assert all(row["repeats"] == 1 and row["utility"] is not None for row in labels)
    assert [row["skipped"] for row in counted_once(run, "branchings")] == [0] * GAMES
    assert [row["partition"] for row in counted_once(run, "partitions")] == [1, 2]
    assert [row["partition"] for row in counted_once(run, "growth")] == [0, 1, 2]


def test_a_driver_killed_in_both_partitions_loses_and_repeats_nothing(tmp_path):
    run = tmp_path / "run"
    begin = ("label_utility", CONFIG, *SLOW)
    per_partition = sum(EPISODES.values()) // 2
    acknowledged = {}
    for moment in (GAMES // 2 + 3, per_partition + GAMES // 2 + 3):
        with started(*begin, run=run) as process:
            wait_for(lambda moment=moment: len(rows(run)) >= moment, process)
            below = family(process)
            process.kill()
            process.wait(30)
            wait_for(lambda below=below: gone(below))
        assert branches(run)
        acknowledged |= {row["key"]: row for row in rows(run)}
        begin = ("label_utility", run)
    assert len(acknowledged) < sum(EPISODES.values())
    with started(*begin, run=run) as process:
        finished(process, run)
    check_complete(run, acknowledged)


def test_an_engine_killed_among_branches_is_replaced_and_they_are_played_again(tmp_path):
    run = tmp_path / "run"
    with started("label_utility", CONFIG, *SLOW, run=run) as process:
        wait_for(lambda: len(branches(run)) >= 3, process)
        acknowledged = {row["key"]: row for row in rows(run)}
        (engine,) = engines(process)
        engine.kill()
        finished(process, run)
    check_complete(run, acknowledged)
    lost = counted_once(run, "failed_attempts")
    assert 1 <= len(lost) <= 4
    assert {row["stop_reason"] for row in lost} == {"engine_error"}
