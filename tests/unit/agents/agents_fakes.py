"""Fakes for the agents' tests: a corridor to walk, an engine that answers from a script."""

from collections.abc import Callable, Sequence
from typing import Self

from collegium.agents.protocol import Decision, HeldGuidance, View
from collegium.core import (
    Chunk,
    ChunkStep,
    Guidance,
    Query,
    Step,
    Task,
    Usage,
    Versions,
    content_id,
)
from collegium.environments.protocol import Turn
from collegium.llm.protocol import Completion, Request

GRAMMAR = "alfworld-0.4"
TASK = Task(
    environment="household",
    task_id="task/trial",
    task_type="pick_and_place_simple",
    split="train",
    goal="put some book on sidetable.",
)
CALL = Usage(calls=1, prompt_tokens=10, cached_tokens=4, completion_tokens=2)


class FakeCorridor:
    """Won after `length` steps of `go`; `leave` ends it; `break` breaks it."""

    task = TASK
    versions = Versions(game_data="fake", grammar=GRAMMAR, engine="fake-1")

    def __init__(self, length: int = 3, *, broken: Exception | None = None) -> None:
        self.length = length
        self.broken = broken
        self.reset()

    def reset(self) -> Turn:
        self.place, self.left, self.observation = 0, False, "the start"
        return self._turn()

    def step(self, action: str) -> Turn:
        if self.broken and action == "break":
            raise self.broken
        self.place += action == "go"
        self.left = action == "leave"
        self.observation = f"place {self.place}" if action == "go" else f"after {action}"
        return self._turn()

    def fork(self) -> Self:
        raise NotImplementedError

    def state_hash(self) -> str:
        return content_id([self.observation, self.place])

    def _turn(self) -> Turn:
        won = self.place == self.length
        score = self.place / self.length if self.length else 1.0
        actions = ("break", "go", "leave", "look")
        return Turn(self.observation, actions, won or self.left, won, score)


class FakePolicy:
    """Takes actions from a list, None for an answer without one; keeps the views it got."""

    def __init__(self, actions: Sequence[str | Exception | None]) -> None:
        self.actions = list(actions)
        self.views: list[View] = []

    async def act(self, view: View) -> Decision:
        self.views.append(view)
        action = self.actions[len(self.views) - 1]
        if isinstance(action, Exception):
            raise action
        held = HeldGuidance(guidance("go"), since=len(view.steps)) if view.held is None else None
        return Decision(action, retrieved=view.held is None, usage=CALL, held=held)


class FakeEngine:
    """Answers by a function of the request, and keeps the requests."""

    model = "fake"

    def __init__(self, answer: Callable[[Request], str]) -> None:
        self.answer = answer
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        return Completion(text=self.answer(request), finish_reason="stop", usage=CALL)

    async def close(self) -> None:
        pass


class FakeSource:
    """Finds the same guidance for every query, and keeps the queries."""

    def __init__(self, found: Sequence[Guidance]) -> None:
        self.found = list(found)
        self.queries: list[tuple[Query, int]] = []

    async def retrieve(self, query: Query, k: int) -> list[Guidance]:
        self.queries.append((query, k))
        return self.found[:k]


def guidance(*actions: str, goal: str = "put some pen on desk.") -> Guidance:
    steps = tuple(ChunkStep(action=a, observation=f"saw {a}") for a in actions)
    chunk = Chunk(
        chunk_id=content_id(list(actions)),
        trajectory_id="t",
        producer="teacher",
        environment="household",
        task_id="other/trial",
        task_type="pick_and_place_simple",
        goal=goal,
        state="observation: x",
        context="",
        progress=0,
        total_steps=len(actions),
        steps=steps,
        grammar=GRAMMAR,
    )
    return Guidance(chunk=chunk, rank=1, retrieval_score=0.25)


def view_of(*actions: str, held: HeldGuidance | None = None) -> View:
    """A view after `actions`, each answered by `saw ...`; any of a, b, look is admissible."""
    steps = tuple(Step(action=a, observation=f"saw {a}") for a in actions)
    observation = steps[-1].observation if steps else "the start"
    return View(TASK, "the start", steps, observation, ("a", "b", "look"), 30, held)
