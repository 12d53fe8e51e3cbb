"""Branching points: which are chosen, how they are reached, and what is left out."""

import pytest
from pydantic import ValidationError

from collegium.core import EnvironmentFailedError, Episode, Step, StopReason, Task, Versions
from collegium.core.records import Trajectory
from collegium.environments import Turn
from collegium.experience import BranchingConfig, choose_steps, open_points

VERSIONS = Versions(game_data="g", grammar="test", engine="test-1")
TASK = Task(environment="corridor", task_id="c", task_type="walk", split="train", goal="go.")


class Corridor:
    """Counts steps; from step `odd` on, it answers otherwise than other corridors."""

    task = TASK
    versions = VERSIONS

    def __init__(self, odd=None, breaks=None):
        self.odd, self.breaks = odd, breaks
        self.taken = 0

    def reset(self):
        self.taken = 0
        return self._turn()

    def step(self, action):
        self.taken += 1
        if self.taken == self.breaks:
            raise RuntimeError("the floor gave way")
        return self._turn()

    def fork(self):
        copy = type(self)(self.odd, self.breaks)
        copy.taken = self.taken
        return copy

    def state_hash(self):
        return self._turn().observation

    def _turn(self):
        other = self.odd is not None and self.taken >= self.odd
        return Turn(f"door {self.taken}{' ajar' if other else ''}", ("on",), False, False, 0.0)


def baseline(steps):
    """An episode in an ordinary corridor."""
    corridor = Corridor()
    first = corridor.reset().observation
    played = []
    for _ in range(steps):
        turn = corridor.step("on")
        played.append(
            Step(action="on", observation=turn.observation, state_hash=corridor.state_hash())
        )
    trajectory = Trajectory(
        task=TASK,
        producer="walker",
        initial_observation=first,
        steps=tuple(played),
        success=False,
        score=0.0,
        versions=VERSIONS,
    )
    return Episode(
        key="b", arm="no_retrieval", trajectory=trajectory, stop_reason=StopReason.STEP_LIMIT
    )


@pytest.mark.parametrize("mode", ["fork", "replay"])
def test_each_branch_stands_where_the_baseline_stood_and_has_its_own_environment(mode):
    points = list(open_points(baseline(6), [2, 5], Corridor, mode))
    assert [(point.step, point.turn.observation) for point in points] == [
        (2, "door 2"),
        (5, "door 5"),
    ]
    one, other = points[0].environment(), points[0].environment()
    one.step("on")
    assert (one.taken, other.taken) == (3, 2)
    assert points[0].group != points[1].group


@pytest.mark.parametrize("mode", ["fork", "replay"])
@pytest.mark.parametrize(("odd", "reached"), [(0, []), (1, []), (3, [2]), (5, [2]), (6, [2, 5])])
def test_points_that_are_reached_otherwise_are_left_out(mode, odd, reached):
    points = open_points(baseline(6), [2, 5], lambda: Corridor(odd=odd), mode)
    assert [point.step for point in points] == reached


def test_points_behind_a_break_are_left_out():
    points = open_points(baseline(6), [2, 5], lambda: Corridor(breaks=4), "fork")
    assert [point.step for point in points] == [2]


def test_a_replay_that_goes_otherwise_later_is_refused():
    made = iter([Corridor(), Corridor(odd=1), Corridor(breaks=2)])
    (point,) = open_points(baseline(6), [3], lambda: next(made), "replay")
    with pytest.raises(EnvironmentFailedError, match="c: the way to step 3 went otherwise"):
        point.environment()
    with pytest.raises(EnvironmentFailedError, match="the floor gave way"):
        point.environment()


def test_a_query_is_the_live_state_before_the_step():
    (point,) = open_points(baseline(6), [3], Corridor, "fork")
    query = point.query(step_limit=30)
    assert (query.consumer, query.progress, query.grammar) == ("walker", 3, "test")
    assert query.state == "observation: door 3"


def test_points_are_some_of_the_steps_but_the_last_and_the_same_each_time():
    config = BranchingConfig(points=3, seed=5)
    trajectory = baseline(6).trajectory
    chosen = choose_steps(trajectory, config, partition=1)
    assert chosen == sorted(set(chosen)) == choose_steps(trajectory, config, partition=1)
    assert len(chosen) == 3
    assert all(1 <= step <= 5 for step in chosen)
    others = {tuple(choose_steps(trajectory, config, partition=p)) for p in range(2, 12)}
    assert len(others) > 1


@pytest.mark.parametrize(("steps", "chosen"), [(0, []), (1, []), (2, [1]), (3, [1, 2])])
def test_short_baselines_have_fewer_points(steps, chosen):
    config = BranchingConfig(points=2)
    assert choose_steps(baseline(steps).trajectory, config, partition=1) == chosen


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ranks": (5, 1)}, "must rise"),
        ({"ranks": (0, 1)}, "count from 1"),
        ({"ranks": (1, 25)}, "rank 25 is not among 20 candidates"),
    ],
)
def test_ranks_that_cannot_be_shown_are_refused(settings, message):
    with pytest.raises(ValidationError, match=message):
        BranchingConfig(**settings)


def test_branches_count_controls_and_repeats():
    assert BranchingConfig(ranks=(1, 5), repeats=3).branches == 9
    assert BranchingConfig(ranks=(1, 5), control=False).branches == 2
