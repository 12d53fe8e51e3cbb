"""A resumable map: each unit of work has its result once, over all starts of a run.

A unit has a key that never changes, and its result is one row under that key. Work whose row is
there is not done again, so a kill at any moment costs at most what was in flight. Work that was
done twice all the same counts once, as the first row of a key is the one that is read.

The work itself is any coroutine function: it may await an engine, or a task or actor of Ray. A
failure that the work can name is a result; it is tried again, and the earlier tries are kept in a
table of their own. What the work raises ends the map: the rest is cancelled, and what was stored
stays.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from collegium.core import InvalidInputError
from collegium.store import RunDirectory
from collegium.store.tables import Row


class Unit(Protocol):
    """One thing to do."""

    @property
    def key(self) -> str:
        """Names it within the run, on every machine and in every start."""
        ...


U = TypeVar("U", bound=Unit)
R = TypeVar("R")
R_contra = TypeVar("R_contra", contravariant=True)


class Counter(Protocol[R_contra]):
    """Hears how far the work is."""

    def expect(self, total: int, done: int, /) -> None:
        """Announce further units, `done` of which have their results already."""
        ...

    def advance(self, result: R_contra, /) -> None:
        """Count a further result as stored."""
        ...


@dataclass(frozen=True)
class Results(Generic[R]):
    """How results are stored."""

    table: str
    """Holds one row a unit."""
    failures: str
    """Holds the failed tries before."""
    to_row: Callable[[R], Row]
    """Gives the row of a result, with its unit's `key`."""
    is_failure: Callable[[R], bool]
    """Tells whether it should be tried again."""


class TaskMap(Generic[U, R]):
    """Maps units to results in one run directory; belongs to one event loop."""

    def __init__(
        self,
        run: RunDirectory,
        results: Results[R],
        counter: Counter[R],
        *,
        attempts: int,
        concurrency: int,
    ) -> None:
        """Read from the run directory what is done.

        Args:
            run: An opened run directory.
            results: How results are stored there.
            counter: Told of each.
            attempts: Times a unit is tried, at least 1; the last failure is its result.
            concurrency: Units in flight, over all calls of `run` together.
        """
        self._run = run
        self._results = results
        self._counter = counter
        self._attempts = attempts
        self._concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self.start = len(run.starts())
        """Number of this start of the run, from 1."""
        self._done = run.keys(results.table)

    def remaining(self, units: Iterable[U]) -> list[U]:
        """Return the units that have no result yet, each once, and tell the counter of all."""
        by_key = {unit.key: unit for unit in units}
        left = [unit for key, unit in by_key.items() if key not in self._done]
        self._counter.expect(len(by_key), len(by_key) - len(left))
        return left

    async def run(self, units: Sequence[U], work: Callable[[U], Awaitable[R]]) -> None:
        """Do what `remaining` returned, or a part of it.

        A slot is asked for anew for each unit, so that calls side by side share the slots.

        Raises:
            Exception: What `work` raised first.
        """
        waiting = iter(units)

        async def do_next() -> None:
            for unit in waiting:
                async with self._slots:
                    await self._settle(unit, work)
                await asyncio.sleep(0)  # work that never waits lets signals and others through

        await all_of(do_next() for _ in range(min(len(units), self._concurrency)))

    async def _settle(self, unit: U, work: Callable[[U], Awaitable[R]]) -> None:
        """Try until it is no failure, or for the last time, and store that result."""
        for attempt in range(1, self._attempts + 1):
            result = await work(unit)
            row = self._row(unit, result)
            if attempt == self._attempts or not self._results.is_failure(result):
                break
            key = f"{unit.key}/{self.start}.{attempt}"
            self._run.append(self._results.failures, [{**row, "key": key}])
        self._run.append(self._results.table, [row])
        self._done.add(unit.key)
        self._counter.advance(result)

    def _row(self, unit: U, result: R) -> Row:
        row = self._results.to_row(result)
        if row.get("key") != unit.key:
            raise InvalidInputError(
                f"the result of unit {unit.key} came as {row.get('key')!r}: stored so, its unit "
                "would be done again at each start"
            )
        return row


async def all_of(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Await everything; the first error cancels the rest, waits for it, and is raised as it is."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
