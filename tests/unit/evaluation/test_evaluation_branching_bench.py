"""The branching bench with a fake engine: the same branches in every way, and what is counted."""

import asyncio
from collections import Counter
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
def measured():
    """Each way's result and its engine."""

    def measure(way, slots):
        engine = FakeEngine()
        played = asyncio.run(branching.measure(way, range(2), slots, engine, SystemClock()))
        return played, engine

    return {name: measure(*way) for name, way in WAYS.items()}


def test_every_way_plays_the_same_branches_to_the_same_end(measured):
    outcomes = {name: played.outcomes for name, (played, _) in measured.items()}
    assert len(outcomes["forked"]) == 2 * 2 * 6
    assert outcomes["forked"] == outcomes["batched"] == outcomes["alone"]


def test_from_a_reset_the_way_is_asked_again_and_then_the_same_prompts(measured):
    prompts = {name: engine.prompts for name, (_, engine) in measured.items()}
    assert sorted(prompts["batched"]) == sorted(prompts["alone"])
    rest = Counter(prompts["alone"])
    rest.subtract(prompts["forked"])
    assert min(rest.values()) >= 0
    again = list(rest.elements())
    assert len(again) == measured["forked"][0].before
    assert not any(prompt.splitlines()[-1].startswith("# ") for prompt in again)
    assert any(prompt.splitlines()[-1].startswith("# ") for prompt in prompts["forked"])


def test_only_one_way_asks_one_branch_at_a_time(measured):
    most = {name: engine.most_at_once for name, (_, engine) in measured.items()}
    assert most == {"forked": SLOTS, "batched": SLOTS, "alone": 2}, "two baselines come first"
    assert all(engine.closed for _, engine in measured.values())


def test_figures_are_medians_of_ratios_and_count_what_differs(measured):
    outcomes = measured["forked"][0].outcomes
    odd = [Outcome(1 - outcomes[0].score, outcomes[0].steps), *outcomes[1:]]

    def played(seconds, outcomes=outcomes):
        return Played(seconds, outcomes, before=10)

    rounds = [
        Round(played(2.0), played(4.0), played(12.0)),
        Round(played(1.0), played(1.0, odd), played(8.0)),
    ]
    figures = branching.figures(rounds)
    assert (figures["cost_ratio"], figures["batched_replay_ratio"]) == (7.0, 1.5)
    assert (figures["mismatches"], figures["branches"]) == (1, 2 * len(outcomes))
    steps = 2 * (sum(one.steps for one in outcomes) - 10)
    assert figures["step_s"] == pytest.approx(3.0 / steps, abs=1e-4)
