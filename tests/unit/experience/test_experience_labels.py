"""Values of utility labels, from episodes whose outcomes are given."""

from functools import partial

import pytest

from collegium.core import Episode, Guidance, Query, StopReason
from collegium.environments import Turn
from collegium.experience import BranchPoint, chunk_trajectory, label_point

TURN = Turn("you are here", ("go",), False, False, 0.0)
STEP = 2


@pytest.fixture
def episode(make_trajectory):
    """Gives an episode of so many steps with that outcome."""

    def build(success, *, seed=0, steps=7, stop=None):
        trajectory = make_trajectory(steps, success=success)
        reason = stop or (StopReason.SOLVED if success else StopReason.STEP_LIMIT)
        return Episode(
            key=f"{success}/{seed}",
            arm="x",
            partition=3,
            seed=seed,
            trajectory=trajectory,
            stop_reason=reason,
        )

    return build


@pytest.fixture
def labels(episode, make_trajectory):
    """Label the futures of a point: by rank, then repeat, each a success or not."""

    def run(base, futures, controls):
        point = BranchPoint(episode(base), STEP, TURN, lambda: None)
        chunks = chunk_trajectory(make_trajectory(9, producer="teacher"))
        shown = [
            (Guidance(chunk=chunk, rank=rank, retrieval_score=0.1 * rank), played)
            for (rank, played), chunk in zip(futures.items(), chunks, strict=False)
        ]
        query = Query(
            environment="household",
            task_id="task-0",
            task_type="pick",
            goal="put an apple in the fridge.",
            state="",
            context="",
            progress=STEP,
            grammar="test-grammar",
        )
        return label_point(point, query, shown, controls, "an-embedder")

    return run


def test_one_label_a_future_with_both_differences(labels, episode):
    futures = {1: [episode(True, steps=5)], 5: [episode(False)]}
    helped, same = labels(False, futures, [episode(True, steps=6)])
    assert (helped.rank, helped.label, helped.utility) == (1, 1.0, 0.0)
    assert (same.rank, same.label, same.utility) == (5, 0.0, -1.0)
    assert (helped.score_base, helped.score_future, helped.score_control) == (0.0, 1.0, 1.0)
    assert (helped.steps_future, helped.steps_control) == (3, 4)
    assert (helped.utility_low, helped.utility_high) == (None, None)
    assert (helped.producer, helped.agent, helped.partition) == ("teacher", "agent-a", 3)
    assert (helped.embedder, helped.seeds, helped.repeats) == ("an-embedder", (0,), 1)
    assert helped.group == same.group
    assert helped.key != same.key


def test_a_baseline_that_won_can_only_be_hurt(labels, episode):
    (label,) = labels(True, {1: [episode(False)]}, [episode(False)])
    assert (label.label, label.utility) == (-1.0, 0.0)


def test_without_a_control_there_is_no_utility(labels, episode):
    (label,) = labels(False, {1: [episode(True)]}, [])
    assert label.label == 1.0
    assert (label.utility, label.score_control, label.steps_control) == (None, None, None)


def test_repeats_are_paired_by_seed_and_give_an_interval(labels, episode):
    outcomes = {0: (True, False), 1: (True, True), 2: (False, False), 3: (True, False)}
    futures = [episode(future, seed=seed) for seed, (future, _) in outcomes.items()]
    controls = [episode(control, seed=seed) for seed, (_, control) in reversed(outcomes.items())]
    (label,) = labels(False, {1: futures}, controls)
    assert (label.repeats, label.seeds) == (4, (0, 1, 2, 3))
    assert (label.score_future, label.score_control, label.label) == (0.75, 0.25, 0.75)
    assert label.utility == pytest.approx(0.5)
    assert 0 <= label.utility_low < 0.5 < label.utility_high <= 1
    assert labels(False, {1: futures}, controls) == [label]


def test_repeats_that_the_machinery_ended_count_on_neither_side(labels, episode):
    broken = partial(episode, False, stop=StopReason.ENGINE_ERROR)
    futures = {1: [episode(True), broken(seed=1)], 5: [broken()]}
    controls = [broken(seed=0), episode(False, seed=1)]
    (label,) = labels(False, futures, controls)
    assert (label.rank, label.repeats, label.seeds) == (1, 1, (0,))
    assert label.score_control == 0.0
    assert label.utility is None
