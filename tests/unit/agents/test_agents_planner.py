"""Retrieval planners: the paper's model-based one, the rule for small agents, the fixed ones."""

import asyncio
import json

import pytest
from agents_fakes import CALL, FakeEngine, guidance, view_of

from collegium.agents.planner import (
    FixedPlanner,
    FollowPlanner,
    LlmPlanner,
    PlannerKind,
    check_planner_variety,
    retrieval_rate,
)
from collegium.agents.protocol import HeldGuidance
from collegium.core import Agent, BudgetExceededError, ConfigError, EngineError, Usage

AGENT = Agent(id="pupil", model="fake", adapter="some-adapter")


def is_the_same(action, suggested, *, goal, suggested_goal):
    return action == suggested


def decide(planner, view):
    return asyncio.run(planner.decide(view))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("[Retrieval]", True),
        ("I think [Retrieval] is best", True),
        ("[NoRetrieval]", False),
        ("Retrieval", False),
        ("[retrieval]", False),
        ("", False),
    ],
)
def test_only_the_exact_tag_asks_for_a_retrieval(answer, expected):
    decision = decide(LlmPlanner(FakeEngine(lambda _: answer), AGENT), view_of("a"))
    assert decision == (expected, CALL)


def test_the_prompt_carries_goal_observation_three_steps_and_the_guidance():
    engine = FakeEngine(lambda _: "")
    held = HeldGuidance(guidance("a", "b"), since=0)
    decide(LlmPlanner(engine, AGENT), view_of("a", 'say "x"\n{{ y }}', "b", "look", held=held))
    (request,) = engine.requests
    system, user = request.prompt
    assert system.content.startswith("You are a retrieval planner for an agent.")
    payload, _, instruction = user.content.rpartition("\n")
    state = json.loads(payload)
    assert list(state) == [
        "goal",
        "current_observation",
        "recent_history",
        "current_retrieved_context",
    ]
    assert state["current_observation"] == "saw look"
    assert state["recent_history"].startswith("STEP 1: OBSERVATION: saw a | ACTION: say ")
    assert "{{ y }}" in state["recent_history"]
    assert "Step 2: b" in state["current_retrieved_context"]
    assert instruction.startswith("Return only one of these exact tags: [Retrieval]")
    assert request.sampling.temperature == 0
    assert request.adapter == "some-adapter"


def test_without_guidance_the_context_is_empty():
    engine = FakeEngine(lambda _: "")
    decide(LlmPlanner(engine, AGENT), view_of())
    payload = engine.requests[0].prompt[1].content.rpartition("\n")[0]
    assert json.loads(payload)["current_retrieved_context"] == ""
    assert json.loads(payload)["recent_history"] == ""


def failing(error):
    def answer(_):
        raise error

    return FakeEngine(answer)


def test_a_failed_engine_means_no_retrieval_but_a_spent_budget_stops_the_run():
    assert decide(LlmPlanner(failing(EngineError("x")), AGENT), view_of()) == (False, Usage())
    with pytest.raises(BudgetExceededError):
        decide(LlmPlanner(failing(BudgetExceededError("x")), AGENT), view_of())


@pytest.mark.parametrize(
    ("taken", "since", "advice", "retrieve"),
    [
        ([], None, [], True),
        (["a", "b"], None, [], True),
        (["a"], 1, ["b", "a"], False),
        (["a", "b"], 1, ["b", "a"], False),
        (["a", "b"], 1, ["look", "a"], True),
        (["a", "b", "look"], 1, ["b", "a", "b"], True),
        (["a", "b", "a"], 1, ["b", "a"], True),
        (["a", "b"], 0, ["b", "b", "a"], False),
    ],
)
def test_guidance_is_kept_while_it_is_followed(taken, since, advice, retrieve):
    held = None if since is None else HeldGuidance(guidance(*advice), since)
    decision = decide(FollowPlanner(is_the_same), view_of(*taken, held=held))
    assert decision == (retrieve, Usage())


def test_following_is_judged_by_the_environment_which_knows_both_goals():
    asked = []

    def follows(action, suggested, *, goal, suggested_goal):
        asked.append((action, suggested, goal, suggested_goal))
        return True

    held = HeldGuidance(guidance("go to desk 1", "b", goal="put some pen on desk."), 0)
    view = view_of("go to sidetable 2", held=held)
    assert decide(FollowPlanner(follows), view) == (False, Usage())
    goals = ("put some book on sidetable.", "put some pen on desk.")
    assert asked == [("go to sidetable 2", "go to desk 1", *goals)]


@pytest.mark.parametrize("retrieve", [True, False])
def test_fixed_planners_say_always_the_same(retrieve):
    planner = FixedPlanner(retrieve=retrieve)
    assert planner.kind == (PlannerKind.ALWAYS if retrieve else PlannerKind.NEVER)
    assert {decide(planner, view_of(*actions)).retrieve for actions in ("", "a", "ab")} == {
        retrieve
    }


@pytest.mark.parametrize(
    ("kind", "decisions", "message"),
    [
        (PlannerKind.LLM, [True] * 20, "asked for a retrieval at all 20 steps.*planner always"),
        (PlannerKind.LLM, [False] * 50, "never asked.*any of 50 steps.*planner never"),
        (PlannerKind.FOLLOW, [True] * 20, "the follow planner"),
    ],
)
def test_a_planner_that_always_answers_the_same_fails_the_run(kind, decisions, message):
    with pytest.raises(ConfigError, match=message):
        check_planner_variety(decisions, kind)


@pytest.mark.parametrize(
    ("kind", "decisions"),
    [
        (PlannerKind.ALWAYS, [True] * 50),
        (PlannerKind.NEVER, [False] * 50),
        (PlannerKind.LLM, [True] * 49 + [False]),
        (PlannerKind.LLM, [True] * 19),
        (PlannerKind.LLM, []),
    ],
)
def test_a_planner_that_varies_or_was_chosen_fixed_passes(kind, decisions):
    check_planner_variety(decisions, kind)


def test_the_retrieval_rate_is_a_share_of_steps():
    assert retrieval_rate([True, False, False, True]) == 0.5
    assert retrieval_rate([]) == 0.0
