"""The branching bench with a fake engine: the same branches in every way, and what is counted."""

import asyncio
from zlib import crc32

import pytest

from collegium.core import SystemClock, Usage
from collegium.evaluation.benchmarks import branching
from collegium.evaluation.benchmarks.branching import Outcome, Played, Round
from collegium.evaluation.benchmarks.players import SLOTS
from collegium.llm import Completion

WAYS = {
    "forked": (branching.forked, SLOTS),
    "batched": (branching.from_reset, SLOTS),
    "alone": (branching.from_reset, 1),
}


class FakeEngine:
    """Answers some choice, by the prompt; tells how many were asked at once."""

    model = "fake"

    def __init__(self):
        self.prompts = []
        self.at_once = self.most_at_once = 0

    async def complete(self, request):
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        self.prompts.append(request.prompt)
        text = request.choices[crc32(request.prompt.encode()) % len(request.choices)]
        usage = Usage(calls=1, prompt_tokens=10, completion_tokens=3)
        return Completion(text=text, finish_reason="stop", usage=usage)

    async def close(self):
        self.closed = True


@pytest.fixture(scope="module")
def branched():
    return asyncio.run(branching.branch(range(2), FakeEngine(), SystemClock()))


@pytest.fixture(scope="module")
def measured(branched):
    """Each way's result and its engine."""

    def measure(way, slots):
        engine = FakeEngine()
        clock = SystemClock()
        return asyncio.run(branching.measure(way, branched, slots, engine, clock)), engine

    return {name: measure(*way) for name, way in WAYS.items()}


def test_every_way_plays_the_same_branches_to_the_same_end(branched, measured):
    branches = sum(len(one.steps) * len(one.shown) for one in branched)
    outcomes = {name: played.outcomes for name, (played, _) in measured.items()}
    assert len(outcomes["forked"]) == branches == 2 * 2 * 6
    assert outcomes["forked"] == outcomes["batched"] == outcomes["alone"]


def test_from_a_reset_the_way_is_asked_again_and_then_the_same_prompts(branched, measured):
    prompts = {name: engine.prompts for name, (_, engine) in measured.items()}
    assert sorted(prompts["batched"]) == sorted(prompts["alone"])
    rest = sorted(prompts["alone"])
    for prompt in prompts["forked"]:
        rest.remove(prompt)
    ways = sum(sum(one.steps) * len(one.shown) for one in branched)
    assert len(rest) == ways
    assert not any(prompt.splitlines()[-1].startswith("# ") for prompt in rest)
    assert any(prompt.splitlines()[-1].startswith("# ") for prompt in prompts["forked"])


def test_only_one_way_asks_one_at_a_time(measured):
    most = {name: engine.most_at_once for name, (_, engine) in measured.items()}
    assert most == {"forked": SLOTS, "batched": SLOTS, "alone": 1}
    assert all(engine.closed for _, engine in measured.values())


def test_figures_are_medians_of_ratios_and_count_what_differs(branched, measured):
    forked = measured["forked"][0].outcomes
    odd = [Outcome(1 - forked[0].score, forked[0].steps), *forked[1:]]
    rounds = [
        Round(branched, Played(2.0, forked), Played(4.0, forked), Played(12.0, forked)),
        Round(branched, Played(1.0, forked), Played(1.0, odd), Played(8.0, forked)),
    ]
    figures = branching.figures(rounds)
    assert (figures["cost_ratio"], figures["batched_replay_ratio"]) == (7.0, 1.5)
    assert (figures["mismatches"], figures["branches"]) == (1, 2 * len(forked))
    steps = 2 * rounds[0].steps
    assert figures["step_s"] == pytest.approx(3.0 / steps, abs=1e-4)
