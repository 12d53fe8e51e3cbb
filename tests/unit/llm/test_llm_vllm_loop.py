"""The thread around a vLLM engine, with a fake of the engine: no job waits for ever."""

from types import SimpleNamespace

import pytest

from collegium.core import EngineError
from collegium.llm._vllm_loop import EngineLoop, Job
from collegium.llm.protocol import EngineLostError


class FakeEngine:
    """Finishes every job in one step; parameters that are an error are raised instead."""

    def __init__(self):
        self.waiting = []
        self.engine_core = SimpleNamespace(shutdown=lambda: None)

    def add_request(self, key, prompt, params, lora_request):
        if params:
            raise params
        self.waiting.append((key, prompt["prompt_token_ids"]))

    def step(self):
        done, self.waiting = self.waiting, []
        completion = SimpleNamespace(text="yes", finish_reason="stop", token_ids=[1])
        return [
            SimpleNamespace(
                request_id=key,
                outputs=[completion],
                finished=True,
                prompt_token_ids=ids,
                num_cached_tokens=None,
            )
            for key, ids in done
        ]


@pytest.fixture
def loop():
    made = EngineLoop(FakeEngine, slots=4)
    yield made
    made.close(5)


def test_jobs_one_after_the_other_and_together(loop):
    assert loop.submit(Job([1], None)).result(5).text == "yes"
    answers = [loop.submit(Job([1], None)) for _ in range(9)]
    assert [answer.result(5).completion_tokens for answer in answers] == [1] * 9


def test_a_refused_job_leaves_the_engine_at_work(loop):
    with pytest.raises(EngineError, match="refused the request"):
        loop.submit(Job([1], ValueError("no"))).result(5)
    assert loop.submit(Job([1], None)).result(5).text == "yes"


def test_a_job_that_breaks_the_engine_fails_and_so_does_each_later_one(loop):
    with pytest.raises(EngineLostError, match="broken"):
        loop.submit(Job([1], RuntimeError("broken"))).result(5)
    loop._thread.join(5)
    with pytest.raises(EngineLostError, match="not running"):
        loop.submit(Job([1], None))
