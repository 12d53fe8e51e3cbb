"""The rollouts bench with a fake engine: what the bare engine is given, and what counts."""

import asyncio

import pytest

from collegium.core import SystemClock, Usage
from collegium.evaluation.benchmarks import rollouts
from collegium.evaluation.benchmarks.rollouts import Answered, per_second, tokens
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


def answered(seconds, under_way):
    completion = Completion(text="go", finish_reason="stop", usage=CALL)
    return Answered(0, Request(prompt="p"), completion, seconds, under_way)


def test_only_answers_with_nearly_full_slots_count():
    full = [answered(second, rollouts.SLOTS) for second in (1.0, 2.0, 3.0)]
    answers = [answered(0.1, 1), *full, answered(99.0, 2)]
    assert per_second(answers, tokens) == pytest.approx(3.0)


def test_the_bare_engine_is_given_the_very_same_requests_game_by_game():
    asked = []
    answers = asyncio.run(rollouts.play_all(range(30), FakeEngine(asked), SystemClock()))
    games = rollouts.wanted(answers)
    assert len(games) == 30
    assert sorted(one.request.prompt for game in games for one in game) == sorted(asked)
    for game in games:
        lengths = [len(one.request.prompt) for one in game]
        assert lengths == sorted(lengths), "each step's prompt goes on from the one before"


def test_what_never_reached_the_engine_is_not_asked_of_the_bare_one():
    decided = Answered(
        1, Request(prompt="p"), Completion(text="go", finish_reason="stop", usage=Usage()), 1.0, 1
    )
    assert len(rollouts.wanted([answered(1.0, 1), decided])) == 1
