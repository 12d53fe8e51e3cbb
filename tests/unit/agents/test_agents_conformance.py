"""What every prompt format and every planner must do, on views of a real household game."""

import asyncio

import pytest
from agents_fakes import GRAMMAR, FakeEngine, guidance

from collegium.agents.json_format import JsonFormat
from collegium.agents.planner import PlannerKind, build_planner
from collegium.agents.protocol import HeldGuidance, View
from collegium.agents.transcript import TranscriptFormat
from collegium.core import Agent, Step
from collegium.environments.household import Household, load_game_text
from collegium.environments.household.generator import generate_game


class PlainText:
    """A fake wording for transcripts: everything on one line, nothing shortened."""

    def room(self, initial_observation):
        return " ".join(initial_observation.split())

    def observation(self, text):
        return " ".join(text.split())

    def hint(self, chunk, goal):
        return ", ".join(step.action for step in chunk.steps)


FORMATS = {
    "json": (JsonFormat(GRAMMAR), '{{"reasoning": "", "action": "{}"}}'),
    "choice": (JsonFormat(GRAMMAR, answer="choice"), "{}"),
    "transcript": (TranscriptFormat(PlainText()), "{}\n"),
}
"""Name -> format, and how its model names an action."""

ADVICE = guidance("go to shelf 1", "take pen 1 from shelf 1")


@pytest.fixture(scope="module")
def views():
    """The view before each step of a walkthrough, with guidance in use from the second on."""
    game = load_game_text(generate_game(1, "pick_heat_then_place_in_recep"), "task/trial")
    household = Household(game)
    turn = household.reset()
    first, steps, seen = turn.observation, [], []
    for command in game.walkthrough:
        held = HeldGuidance(ADVICE, since=1) if steps else None
        seen.append(
            View(game.task, first, tuple(steps), turn.observation, turn.admissible, 30, held)
        )
        turn = household.step(command)
        steps.append(Step(action=command, observation=turn.observation))
    return seen


def whole_text(prompt):
    if isinstance(prompt.text, str):
        return prompt.text
    return "\n".join(message.content for message in prompt.text)


@pytest.fixture(params=FORMATS)
def named(request):
    return request.param, *FORMATS[request.param]


def test_a_format_is_a_function_of_what_it_is_given(named, views):
    name, prompts, _ = named
    assert prompts.name == name
    for view in views:
        assert prompts.render(view, ADVICE) == prompts.render(view, ADVICE)


def test_the_prompt_shows_the_goal(named, views):
    _, prompts, _ = named
    for view in views:
        text = whole_text(prompts.render(view, None))
        assert view.task.goal.rstrip(".") in text


def test_guidance_stands_in_the_prompt_as_recorded_and_nowhere_without_it(named, views):
    _, prompts, _ = named
    for view in views:
        guided, plain = prompts.render(view, ADVICE), prompts.render(view, None)
        assert guided.guidance_text
        assert guided.guidance_text in whole_text(guided)
        assert plain.guidance_text == ""
        assert guided.guidance_text not in whole_text(plain)


def test_constraints_admit_exactly_the_admissible_commands(named, views):
    _, prompts, _ = named
    for view in views:
        choices = prompts.render(view, ADVICE).choices
        assert choices is None or set(choices) == set(view.admissible)


def test_every_admissible_command_can_be_answered_and_no_other(named, views):
    _, prompts, wording = named
    for view in views:
        for command in view.admissible:
            assert prompts.parse(wording.format(command), view) == command
        for wrong in ("fly to moon 1", "", view.admissible[0] + " 9"):
            assert prompts.parse(wording.format(wrong), view) is None


@pytest.mark.parametrize("kind", PlannerKind)
def test_a_planner_names_its_kind_and_remembers_nothing(kind, views):
    planner = build_planner(
        kind,
        engine=FakeEngine(lambda _: "[Retrieval]"),
        agent=Agent(id="pupil", model="fake"),
        follows=lambda action, suggested, **_: action == suggested,
    )
    assert planner.kind is kind

    def decisions():
        return [asyncio.run(planner.decide(view)).retrieve for view in views]

    forwards = decisions()
    backwards = [asyncio.run(planner.decide(view)).retrieve for view in reversed(views)]
    assert forwards == decisions() == backwards[::-1]
