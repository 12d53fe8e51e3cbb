"""The rollouts bench with a fake engine: what is compared, and what counts."""

import asyncio

import pytest

from collegium.core import SystemClock, Usage
from collegium.evaluation.benchmarks import rollouts
from collegium.evaluation.benchmarks.rollouts import Answered, rate, tokens
from collegium.llm import Completion, Request

CALL = Usage(calls=1, prompt_tokens=10, cached_tokens=8, completion_tokens=3)


class FakeEngine:
    """Answers the first choice, one millisecond later."""

    model = "fake"

    def __init__(self, asked):
        self.asked = asked

    async def complete(self, request):
        await asyncio.sleep(0.001)
        self.asked.append(request.prompt)
        return Completion(text=request.choices[0], finish_reason="stop", usage=CALL)

    async def close(self):
        pass


def answered(seconds, in_flight):
    completion = Completion(text="go", finish_reason="stop", usage=CALL)
    return Answered(Request(prompt="p"), completion, 0.0, seconds, in_flight)


def test_only_answers_with_nearly_full_slots_count():
    full = [answered(second, rollouts.SLOTS) for second in (1.0, 2.0, 3.0)]
    assert rate([answered(0.1, 1), *full, answered(99.0, 2)], tokens) == pytest.approx(3.0)


def test_the_bare_engine_is_given_the_very_same_requests(monkeypatch):
    monkeypatch.setattr(rollouts, "GAMES", 30)
    asked = []
    result = asyncio.run(rollouts._measure(lambda: FakeEngine(asked), SystemClock()))
    half = len(asked) // 2
    assert sorted(asked[:half]) == sorted(asked[half:])
    assert result.figures["prefix_hit_rate"] == 0.8
    assert set(result.targets) <= set(result.figures)
