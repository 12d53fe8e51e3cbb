"""vLLM's own engine given a fixed list of requests, and nothing else: the yardstick of our loop.

Each sequence of requests is asked in order, a request only when the one before it was answered,
as an agent's steps are; `slots` sequences are under way together. Prompts are tokenised and
parameters built beforehand, and each request stops after a known number of tokens, so that all
that is left is vLLM.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from collegium.llm._vllm_loop import Job
from collegium.llm._vllm_requests import RequestEncoder
from collegium.llm.configs import VllmConfig
from collegium.llm.protocol import Request
from collegium.llm.vllm import find_checkpoint, start_engine


class Wanted(NamedTuple):
    """A request, and how many tokens are to be generated for it (at least 1)."""

    request: Request
    tokens: int


class BareAnswer(NamedTuple):
    """When an answer came (monotonic seconds), its tokens, and the sequences under way then."""

    seconds: float
    tokens: int
    under_way: int


def run_bare(
    config: VllmConfig, sequences: Sequence[Sequence[Wanted]], slots: int
) -> list[BareAnswer]:
    """Answer all of `sequences`, `slots` at a time, on an engine started for the purpose.

    Raises:
        EngineError: vLLM could not start, or a prompt is too long for it.
    """
    checkpoint = find_checkpoint(config)
    encoder = RequestEncoder(config, checkpoint)
    waiting = iter([[_job(encoder, wanted) for wanted in sequence] for sequence in sequences])
    engine = start_engine(config, checkpoint)
    try:
        return list(_answers(engine, waiting, slots))
    finally:
        engine.engine_core.shutdown()


def _job(encoder: RequestEncoder, wanted: Wanted) -> Job:
    job = encoder.encode(wanted.request)
    job.params.max_tokens = wanted.tokens
    return job


def _answers(engine: Any, waiting: Iterator[list[Job]], slots: int) -> Iterator[BareAnswer]:
    under_way = {str(slot): _jobs_of_slot(waiting) for slot in range(slots)}
    for slot, jobs in list(under_way.items()):
        if not _ask(engine, f"{slot}.0", jobs):
            del under_way[slot]
    while under_way:
        for output in engine.step():
            if not output.finished:
                continue
            tokens = len(output.outputs[0].token_ids)
            yield BareAnswer(time.monotonic(), tokens, len(under_way))
            slot, _, asked = output.request_id.partition(".")
            if not _ask(engine, f"{slot}.{int(asked) + 1}", under_way[slot]):
                del under_way[slot]


def _jobs_of_slot(waiting: Iterator[list[Job]]) -> Iterator[Job]:
    """Yield one sequence after another; all slots take theirs from the same `waiting`."""
    for sequence in waiting:
        yield from sequence


def _ask(engine: Any, key: str, jobs: Iterator[Job]) -> bool:
    """Hand the next of `jobs` to the engine; False if there is none."""
    job = next(jobs, None)
    if job is None:
        return False
    prompt = {"type": "token", "prompt_token_ids": job.prompt_ids}
    engine.add_request(key, prompt, job.params, lora_request=job.lora)
    return True
