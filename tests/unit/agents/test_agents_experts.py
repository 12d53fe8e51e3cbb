"""Whole episodes on generated household games: the explorer, and a scripted model."""

import asyncio
import json

import pytest
from agents_fakes import FakeEngine, view_of

from collegium.agents.experts import ExplorerPolicy
from collegium.agents.json_format import JsonFormat
from collegium.agents.loop import LoopConfig, play
from collegium.agents.policies import GuidedPolicy
from collegium.agents.units import EpisodeUnit
from collegium.core import Agent, InvalidInputError, StopReason, SystemClock
from collegium.environments.household import Grammar, Household, load_game_text
from collegium.environments.household.generator import generate_game
from collegium.environments.household.goals import TaskType


def game_of(task_type, seed=5):
    return load_game_text(generate_game(seed, task_type), f"{task_type}/{seed}")


def played(game, policy, **limits):
    unit = EpisodeUnit(
        arm="test", environment="household", task_id=game.task.task_id, agent_id="expert"
    )
    coroutine = play(
        Household(game), policy, unit, config=LoopConfig(**limits), clock=SystemClock()
    )
    return asyncio.run(coroutine)


def test_the_explorer_wins_most_games_and_repeats_itself():
    games = [game_of(kind, seed) for kind in TaskType for seed in range(5)]
    episodes = [played(game, ExplorerPolicy(seed=1)) for game in games]
    assert sum(e.stop_reason is StopReason.SOLVED for e in episodes) >= 0.8 * len(games)
    again = played(games[0], ExplorerPolicy(seed=1))
    assert again.trajectory.trajectory_id == episodes[0].trajectory.trajectory_id


def test_a_noisy_explorer_depends_on_its_seed():
    game = game_of(TaskType.HEAT)
    first, same, other = (
        played(game, ExplorerPolicy(seed=s, noise=0.5)).trajectory for s in (1, 1, 2)
    )
    assert first == same
    assert first.trajectory_id != other.trajectory_id


def test_the_explorer_refuses_a_goal_it_cannot_read():
    view = view_of()
    odd = view._replace(task=view.task.model_copy(update={"goal": "be good"}))
    with pytest.raises(InvalidInputError):
        asyncio.run(ExplorerPolicy(seed=1).act(odd))


@pytest.mark.parametrize("task_type", TaskType)
def test_a_model_that_answers_in_json_plays_a_real_game(task_type):
    """The scripted model knows the walkthrough and babbles JSON around it."""
    game = game_of(task_type)
    commands = iter(game.walkthrough)
    engine = FakeEngine(
        lambda _: json.dumps({"reasoning": "Let's think.", "action": next(commands)})
    )
    policy = GuidedPolicy(
        engine, Agent(id="expert", model="fake"), JsonFormat(Grammar.CURRENT), seed=0
    )
    episode = played(game, policy)
    assert episode.stop_reason is StopReason.SOLVED
    assert not any(step.parse_failed for step in episode.trajectory.steps)
    assert engine.requests[-1].prompt[1].content.startswith(f"GOAL: {game.task.goal}")


def test_an_agent_of_the_older_grammar_is_refused_step_after_step():
    game = game_of(TaskType.PICK_AND_PLACE)
    engine = FakeEngine(lambda _: '{"reasoning": "", "action": "put book 1 in/on desk 1"}')
    policy = GuidedPolicy(
        engine, Agent(id="expert", model="fake"), JsonFormat(Grammar.CURRENT), seed=0
    )
    episode = played(game, policy, parse_failure_limit=3)
    assert episode.stop_reason is StopReason.PARSE_FAILURE
    assert [step.action for step in episode.trajectory.steps] == ["look", "look"]
