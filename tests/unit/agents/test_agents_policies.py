"""The composed agent, with a scripted engine and a fake source of guidance."""

import asyncio
from datetime import UTC, datetime

import pytest
from agents_fakes import (
    CALL,
    GRAMMAR,
    TASK,
    FakeCorridor,
    FakeEngine,
    FakeSource,
    guidance,
    view_of,
)

from collegium.agents.json_format import JsonFormat
from collegium.agents.loop import LoopConfig, play
from collegium.agents.planner import FixedPlanner, FollowPlanner, LlmPlanner
from collegium.agents.policies import GuidedPolicy, Retrieval
from collegium.agents.protocol import HeldGuidance
from collegium.agents.queries import build_query
from collegium.agents.units import EpisodeUnit
from collegium.core import Agent, EngineError, FixedClock, Sampling, StopReason

AGENT = Agent(id="pupil", model="fake", adapter="mine", sampling=Sampling(max_tokens=77))
FORMAT = JsonFormat(GRAMMAR, answer="choice")


def policy_of(answer, *, agent=AGENT, planner=None, found=(), seed=1):
    engine, source = FakeEngine(lambda _: answer), FakeSource(found)
    retrieval = Retrieval(source, planner, GRAMMAR) if planner else None
    policy = GuidedPolicy(engine, agent, FORMAT, seed=seed, retrieval=retrieval)
    return policy, engine, source


def act(policy, view):
    return asyncio.run(policy.act(view))


def test_without_retrieval_it_is_one_call_with_the_agents_settings():
    policy, engine, _ = policy_of("b")
    decision = act(policy, view_of("a"))
    assert decision == ("b", None, False, CALL, None)
    (request,) = engine.requests
    assert request.choices == ("a", "b", "look")
    assert (request.adapter, request.sampling.max_tokens, request.seed) == ("mine", 77, None)


def test_retrieved_guidance_is_shown_recorded_and_held():
    found = [guidance("a"), guidance("b")]
    policy, engine, source = policy_of("b", planner=FixedPlanner(retrieve=True), found=found)
    view = view_of("a", "look")
    decision = act(policy, view)
    assert decision.retrieved
    assert decision.held == HeldGuidance(found[0], since=2)
    assert decision.guidance.chunk_id == found[0].chunk.chunk_id
    assert decision.guidance.text in engine.requests[0].prompt[1].content
    assert source.queries == [(build_query(view, grammar=GRAMMAR, consumer="pupil"), 1)]


def test_guidance_is_kept_until_the_planner_asks_for_more():
    held = HeldGuidance(guidance("a"), since=0)
    policy, engine, source = policy_of("b", planner=FixedPlanner(retrieve=False))
    decision = act(policy, view_of(held=held))
    assert not decision.retrieved
    assert decision.held is held
    assert decision.guidance.text in engine.requests[0].prompt[1].content
    assert source.queries == []


def test_a_retrieval_that_finds_nothing_takes_the_old_guidance_away():
    held = HeldGuidance(guidance("a"), since=0)
    policy, engine, _ = policy_of("b", planner=FixedPlanner(retrieve=True))
    decision = act(policy, view_of(held=held))
    assert (decision.retrieved, decision.guidance, decision.held) == (True, None, None)
    assert "GUIDANCE" not in engine.requests[0].prompt[1].content


def test_the_planners_call_is_paid_for():
    engine = FakeEngine(lambda r: "b" if r.choices else "[NoRetrieval]")
    retrieval = Retrieval(FakeSource([]), LlmPlanner(engine, AGENT), GRAMMAR)
    decision = act(GuidedPolicy(engine, AGENT, FORMAT, seed=1, retrieval=retrieval), view_of())
    assert decision.usage == CALL + CALL


def test_an_answer_without_an_action_is_none():
    policy, _, _ = policy_of("fly away")
    assert act(policy, view_of()).action is None


def test_a_failing_engine_is_heard():
    def answer(_):
        raise EngineError("died")

    policy = GuidedPolicy(FakeEngine(answer), AGENT, FORMAT, seed=1)
    with pytest.raises(EngineError):
        act(policy, view_of())


def test_sampled_agents_get_a_seed_of_their_own_for_each_step():
    warm = AGENT.model_copy(update={"sampling": Sampling(temperature=0.7)})

    def seed_of(view, *, agent=warm, seed=1):
        policy, engine, _ = policy_of("b", agent=agent, seed=seed)
        act(policy, view)
        return engine.requests[0].seed

    again, first = seed_of(view_of()), seed_of(view_of())
    others = {
        seed_of(view_of("a")),
        seed_of(view_of(), seed=2),
        seed_of(view_of(), agent=warm.model_copy(update={"id": "other"})),
    }
    assert first == again
    assert len(others | {first}) == 4
    assert all(0 <= seed < 2**31 for seed in others)


def test_an_episode_with_a_following_planner():
    """The corridor's `go` twice as guidance: kept for two steps, then asked for anew."""
    source = FakeSource([guidance("go", "go")])
    engine = FakeEngine(lambda _: "go")
    retrieval = Retrieval(source, FollowPlanner(lambda a, b, **_: a == b), GRAMMAR)
    policy = GuidedPolicy(engine, AGENT, FORMAT, seed=1, retrieval=retrieval)
    unit = EpisodeUnit(
        arm="retrieval", environment="household", task_id=TASK.task_id, agent_id="pupil"
    )
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    episode = asyncio.run(play(FakeCorridor(5), policy, unit, config=LoopConfig(), clock=clock))
    assert episode.stop_reason is StopReason.SOLVED
    assert [s.retrieved for s in episode.trajectory.steps] == [True, False, True, False, True]
    assert all(s.guidance for s in episode.trajectory.steps)


def test_the_query_describes_the_last_five_steps():
    view = view_of(*"abababa")
    query = build_query(view, grammar=GRAMMAR, consumer="pupil")
    assert query.key_text.endswith(" | progress: step_till_now: 7")
    assert query.state == "observation: saw a"
    entries = query.context.split(" ; ")
    assert entries[0] == "observation: saw b | action: a"
    assert len(entries) == 5
    assert build_query(view_of(), grammar="G", consumer="").key_text == (
        "goal: put some book on sidetable. | state: observation: the start | "
        "context:  | progress: step_till_now: 0"
    )
