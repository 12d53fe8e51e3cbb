"""The act loop, on a fake corridor and with policies that follow a script."""

import asyncio
from datetime import UTC, datetime

import pytest
from agents_fakes import CALL, TASK, FakeCorridor, FakePolicy
from pydantic import ValidationError

from collegium.agents.loop import LoopConfig, play
from collegium.agents.units import EpisodeUnit
from collegium.core import (
    BudgetExceededError,
    EngineError,
    EnvironmentFailedError,
    FixedClock,
    InvalidInputError,
    StopReason,
)
from collegium.llm import PromptTooLongError

UNIT = EpisodeUnit(
    arm="no_retrieval",
    environment="household",
    task_id=TASK.task_id,
    agent_id="pupil",
    partition=2,
    offset=7,
    seed=3,
)


def played(actions, *, length=3, broken=None, unit=UNIT, **limits):
    policy = FakePolicy(actions)
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    config = LoopConfig(**limits)
    corridor = FakeCorridor(length, broken=broken)
    episode = asyncio.run(play(corridor, policy, unit, config=config, clock=clock))
    return episode, policy


def test_a_solved_episode_stops_at_once_and_carries_its_unit():
    episode, policy = played(["go", "go", "go", "go"])
    assert episode.stop_reason is StopReason.SOLVED
    assert len(policy.views) == len(episode.trajectory.steps) == 3
    assert episode.trajectory.success
    assert episode.trajectory.score == 1.0
    assert (episode.key, episode.arm) == (UNIT.key, UNIT.arm)
    assert (episode.partition, episode.offset, episode.seed) == (2, 7, 3)
    assert episode.trajectory.producer == "pupil"
    assert [s.observation for s in episode.trajectory.steps] == ["place 1", "place 2", "place 3"]
    assert episode.usage == CALL + CALL + CALL
    assert len({s.state_hash for s in episode.trajectory.steps}) == 3


def test_a_task_that_is_won_from_the_start_needs_no_step():
    episode, policy = played([], length=0)
    assert episode.stop_reason is StopReason.SOLVED
    assert policy.views == []
    assert (episode.trajectory.success, episode.trajectory.score) == (True, 1.0)


def test_the_step_limit_ends_the_episode_as_the_agents_failure():
    episode, _ = played(["go", "look", "go"], length=9, step_limit=2)
    assert episode.stop_reason is StopReason.STEP_LIMIT
    assert not episode.stop_reason.is_machinery
    assert not episode.trajectory.success
    assert episode.trajectory.score == pytest.approx(1 / 9)


def test_an_environment_that_is_done_without_success_was_left_by_the_agent():
    episode, _ = played(["go", "leave", "go"])
    assert episode.stop_reason is StopReason.AGENT_STOPPED


def test_an_answer_without_an_action_becomes_a_marked_look():
    episode, _ = played([None, "go", "go", "go"])
    assert episode.stop_reason is StopReason.SOLVED
    assert [s.action for s in episode.trajectory.steps] == ["look", "go", "go", "go"]
    assert [s.parse_failed for s in episode.trajectory.steps] == [True, False, False, False]


def test_only_failures_in_a_row_end_the_episode_and_the_last_one_is_paid_for():
    episode, policy = played([None, "go", None, None, "go"], parse_failure_limit=2)
    assert episode.stop_reason is StopReason.PARSE_FAILURE
    assert len(policy.views) == 4
    assert [s.action for s in episode.trajectory.steps] == ["look", "go", "look"]
    assert episode.usage.calls == 4
    assert sum(s.usage.calls for s in episode.trajectory.steps) == 3


def test_look_is_not_offered_twice_in_a_row():
    _, policy = played(["look", "go", "go", "go"])
    assert ["look" in view.admissible for view in policy.views] == [True, False, True, True]


def test_what_was_tried_in_a_state_that_looked_the_same_is_withheld():
    _, policy = played(["look", "look", "go", "go", "go"], unrepeatable=(), avoid_repeats=True)
    offered = ["look" in view.admissible for view in policy.views]
    assert offered == [True, True, False, True, True]


def test_the_loop_carries_the_guidance_in_use():
    _, policy = played(["go", "go", "go"])
    assert [view.held is None for view in policy.views] == [True, False, True]
    assert policy.views[1].held.since == 0


def test_views_grow_and_keep_the_first_observation():
    _, policy = played(["go", "look", "go", "go"])
    assert [len(view.steps) for view in policy.views] == [0, 1, 2, 3]
    assert [view.observation for view in policy.views] == [
        "the start",
        "place 1",
        "after look",
        "place 2",
    ]
    assert {view.initial_observation for view in policy.views} == {"the start"}


def test_a_failed_engine_is_the_machinerys_failure():
    episode, _ = played(["go", EngineError("died")])
    assert episode.stop_reason is StopReason.ENGINE_ERROR
    assert episode.stop_reason.is_machinery
    assert episode.error == "died"
    assert not episode.trajectory.success
    assert len(episode.trajectory.steps) == 1


def test_a_prompt_that_outgrew_the_model_is_the_agents_failure():
    episode, _ = played(["go", PromptTooLongError("4097 tokens")])
    assert episode.stop_reason is StopReason.CONTEXT_LIMIT
    assert not episode.stop_reason.is_machinery
    assert episode.error == "4097 tokens"
    assert len(episode.trajectory.steps) == episode.usage.calls == 1


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (EnvironmentFailedError("no browser"), "no browser"),
        (KeyError(3), "KeyError: 3"),
    ],
)
def test_a_failed_environment_is_the_machinerys_failure(broken, told):
    episode, _ = played(["go", "break"], broken=broken)
    assert episode.stop_reason is StopReason.ENVIRONMENT_ERROR
    assert episode.error == told


def test_an_environment_that_cannot_even_start_leaves_a_row():
    class Dead(FakeCorridor):
        def __init__(self):
            self.length = 1

        def reset(self):
            raise EnvironmentFailedError("no game")

    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    episode = asyncio.run(play(Dead(), FakePolicy([]), UNIT, config=LoopConfig(), clock=clock))
    assert episode.stop_reason is StopReason.ENVIRONMENT_ERROR
    assert episode.trajectory.steps == ()


@pytest.mark.parametrize("error", [BudgetExceededError("spent"), KeyError("a bug")])
def test_budgets_and_bugs_leave_the_loop(error):
    with pytest.raises(type(error)):
        played(["go", error])


def test_a_unit_for_another_task_is_refused():
    other = UNIT.model_copy(update={"task_id": "another"})
    with pytest.raises(InvalidInputError, match="another"):
        played(["go"], unit=other)


def test_seconds_are_the_clocks():
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))

    class Slow(FakePolicy):
        async def act(self, view):
            clock.advance(1.5)
            return await super().act(view)

    policy = Slow(["go", "go"])
    episode = asyncio.run(play(FakeCorridor(2), policy, UNIT, config=LoopConfig(), clock=clock))
    assert episode.seconds == pytest.approx(3.0)


@pytest.mark.parametrize("wrong", [{"step_limit": 0}, {"parse_failure_limit": 0}, {"steps": 3}])
def test_limits_are_validated(wrong):
    with pytest.raises(ValidationError):
        LoopConfig(**wrong)


def test_keys_differ_in_every_field_and_are_stable():
    changes = {
        "arm": "retrieval",
        "environment": "web",
        "task_id": "x",
        "agent_id": "y",
        "partition": 9,
        "offset": 9,
        "seed": 9,
    }
    assert changes.keys() == EpisodeUnit.model_fields.keys()
    keys = {UNIT.model_copy(update={name: value}).key for name, value in changes.items()}
    assert len(keys | {UNIT.key}) == len(changes) + 1
    assert UNIT.key == "57653ecb1b6e5f8aac1a810b2ed22346"
