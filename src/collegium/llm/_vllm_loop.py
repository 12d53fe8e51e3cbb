"""The thread that owns a vLLM engine: takes jobs in, steps all of them together, hands answers out.

vLLM's engine core runs in this same process (one process to kill, one to measure), so one thread
must create it and step it. Whatever vLLM raises while stepping ends the engine: the jobs in flight
fail, and so does each later one.
"""

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from collegium.core import CollegiumError, EngineError
from collegium.llm.choices import ChoiceCursor
from collegium.llm.protocol import EngineLostError

_LINGER = 0.3
"""Share of a step's time for which the next one may wait."""


class Answer(NamedTuple):
    """What came back for one job; `choice` is the index of the choice made, if there were any."""

    text: str
    finish_reason: str | None
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    choice: int | None


@dataclass
class Job:
    """One request in vLLM's terms, and the future that its answer goes to."""

    prompt_ids: list[int]
    params: Any
    lora: Any = None
    cursor: ChoiceCursor | None = None
    read: int = 0
    answer: Future[Answer] = field(default_factory=Future)


class EngineLoop:
    """Runs the engine that `create` makes, on a thread of its own."""

    def __init__(self, create: Callable[[], Any], slots: int) -> None:
        """Start the thread and wait until the engine, which steps `slots` jobs together, is ready.

        Raises:
            EngineError: The engine could not be created.
        """
        self._inbox: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._jobs: dict[str, Job] = {}
        self._failure: Exception | None = None
        self._slots = slots
        self._count = 0
        self._answered = 0
        self._step_s = 0.0
        self._open = threading.Lock()
        self._closed = False
        ready: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._run, args=(create, ready), name="vllm", daemon=True
        )
        self._thread.start()
        ready.result()

    def submit(self, job: Job) -> Future[Answer]:
        """Queue a job; its future fails with EngineError if the engine is closed or broken."""
        with self._open:
            if self._closed:
                raise EngineLostError(
                    f"the engine is not running: {self._failure or 'it was closed'}"
                )
            self._inbox.put(job)
        return job.answer

    def close(self, timeout_s: float) -> bool:
        """Stop after the present step; returns whether the thread ended within `timeout_s`."""
        self._inbox.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self, create: Callable[[], Any], ready: "Future[None]") -> None:
        try:
            engine = create()
        except Exception as error:
            ready.set_exception(_as_engine_error("vLLM did not start", error))
            return
        ready.set_result(None)
        try:
            while self._admit(engine):
                self._step(engine)
        except Exception as error:
            self._failure = error
        self._fail_all()
        engine.engine_core.shutdown()

    def _admit(self, engine: Any) -> bool:
        """Hand waiting jobs to the engine, sleeping while it is idle; False means close.

        Whoever just got an answer is likely to ask again at once. A job that misses the start of a
        step waits for all of it, so while slots are free the step waits a little for as many jobs
        as were answered.
        """
        self._drop_cancelled(engine)
        deadline = time.monotonic() + _LINGER * self._step_s
        while True:
            try:
                job = self._inbox.get(timeout=self._patience_s(deadline))
            except queue.Empty:
                return True
            if job is None:
                return False
            self._add(engine, job)
            self._answered -= 1

    def _patience_s(self, deadline: float) -> float | None:
        if not self._jobs:
            return None
        waits = self._answered > 0 and len(self._jobs) < self._slots
        return max(0.0, deadline - time.monotonic()) if waits else 0.0

    def _step(self, engine: Any) -> None:
        """Step all jobs together; hand out what is finished."""
        started = time.monotonic()
        outputs = engine.step()
        self._step_s = time.monotonic() - started
        before = len(self._jobs)
        for output in outputs:
            self._deliver(engine, output)
        self._answered = before - len(self._jobs)

    def _add(self, engine: Any, job: Job) -> None:
        self._count += 1
        key = str(self._count)
        self._jobs[key] = job  # so that it fails with the others if the engine breaks on it
        prompt = {"type": "token", "prompt_token_ids": job.prompt_ids}
        try:
            engine.add_request(key, prompt, job.params, lora_request=job.lora)
        except ValueError as error:
            del self._jobs[key]
            if job.answer.set_running_or_notify_cancel():
                job.answer.set_exception(_as_engine_error("vLLM refused the request", error))

    def _deliver(self, engine: Any, output: Any) -> None:
        job = self._jobs.get(output.request_id)
        if job is None:
            return
        completion = output.outputs[0]
        choice = None
        if job.cursor is not None:
            job.cursor.advance(completion.token_ids[job.read :])
            job.read = len(completion.token_ids)
            choice = job.cursor.decided
        if choice is None and not output.finished:
            return
        if not output.finished:
            engine.abort_request([output.request_id])
        del self._jobs[output.request_id]
        answer = Answer(
            text=completion.text,
            finish_reason=completion.finish_reason,
            prompt_tokens=len(output.prompt_token_ids),
            cached_tokens=output.num_cached_tokens or 0,
            completion_tokens=len(completion.token_ids),
            choice=choice,
        )
        if job.answer.set_running_or_notify_cancel():
            job.answer.set_result(answer)

    def _drop_cancelled(self, engine: Any) -> None:
        gone = [key for key, job in self._jobs.items() if job.answer.cancelled()]
        for key in gone:
            engine.abort_request([key])
            del self._jobs[key]

    def _fail_all(self) -> None:
        with self._open:
            self._closed = True
        waiting = list(self._jobs.values())
        while not self._inbox.empty():
            if (job := self._inbox.get()) is not None:
                waiting.append(job)
        for job in waiting:
            if job.answer.set_running_or_notify_cancel():
                error = self._failure or RuntimeError("it was closed")
                job.answer.set_exception(EngineLostError(f"vLLM stopped: {error!r}"))


def _as_engine_error(what: str, error: Exception) -> CollegiumError:
    if isinstance(error, CollegiumError):
        return error
    wrapped = EngineError(f"{what}: {type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped
