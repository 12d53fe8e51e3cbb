"""A resumable map as a process of its own, to be killed: `python counted_work.py RUN LOG`.

Each unit takes some milliseconds, and leaves a line in LOG when it starts: what was really done.
"""

import asyncio
import sys
from pathlib import Path
from typing import NamedTuple

from collegium.config import Config
from collegium.runtime.task_map import Results, TaskMap
from collegium.store import RunDirectory

UNITS = 60
CONCURRENCY = 4


class NoConfig(Config):
    """The run has nothing to configure."""


class Number(NamedTuple):
    value: int

    @property
    def key(self):
        return f"unit-{self.value}"


class Square(NamedTuple):
    unit: Number
    square: int


class Uncounted:
    def expect(self, total, done, /):
        """Hear nothing."""

    def advance(self, result, /):
        """Hear nothing."""


RESULTS = Results[Square](
    table="squares",
    failures="failed_squares",
    to_row=lambda result: {"key": result.unit.key, "square": result.square},
    is_failure=lambda result: result.square < 0,
)


def square_map(run, counter=None, *, attempts=1, concurrency=CONCURRENCY):
    """Return the map in an opened run directory."""
    return TaskMap(run, RESULTS, counter or Uncounted(), attempts=attempts, concurrency=concurrency)


async def square_all(run, log):
    async def work(unit):
        with log.open("a") as lines:
            lines.write(f"{unit.key}\n")
        await asyncio.sleep(0.01)
        return Square(unit, unit.value**2)

    squares = square_map(run)
    await squares.run(squares.remaining(map(Number, range(UNITS))), work)
    run.finish()


if __name__ == "__main__":
    opened = RunDirectory(sys.argv[1]).open(NoConfig())
    asyncio.run(square_all(opened, Path(sys.argv[2])))
