"""Progress and expected time of a run, on the driver's standard error.

On a terminal one line that redraws itself, elsewhere (logs of a cluster job) a line now and then.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from collegium.core import Clock, Episode

_LINE_EVERY_S = 20.0


class Progress(Protocol):
    """Hears what is to be played and what was."""

    def stage(self, name: str) -> None:
        """Name what is being done now."""
        ...

    def expect(self, episodes: int, done: int) -> None:
        """Announce further episodes, `done` of which are stored already."""
        ...

    def advance(self, episode: Episode) -> None:
        """Count a further episode as stored."""
        ...


class Silent:
    """Shows nothing."""

    def stage(self, name: str) -> None:
        """Do nothing."""

    def expect(self, episodes: int, done: int) -> None:
        """Do nothing."""

    def advance(self, episode: Episode) -> None:
        """Do nothing."""


class Tally:
    """Counts episodes and steps of this attempt, and tells how long the rest will take."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._started: float | None = None
        self.total = 0
        self.stored = 0
        self.played = 0
        self.steps = 0
        self.solved = 0

    def expect(self, episodes: int, done: int) -> None:
        """Announce further episodes, `done` of which are stored already."""
        self.total += episodes
        self.stored += done
        if self._started is None:
            self._started = self._clock.monotonic()

    def advance(self, episode: Episode) -> None:
        """Count an episode."""
        self.stored += 1
        self.played += 1
        self.steps += len(episode.trajectory.steps)
        self.solved += episode.trajectory.success

    @property
    def seconds(self) -> float:
        """Time since the first episode was announced."""
        return 0.0 if self._started is None else self._clock.monotonic() - self._started

    @property
    def text(self) -> str:
        """What was reached so far, and the expected time left."""
        left = self.seconds / self.played * (self.total - self.stored) if self.played else None
        eta = "" if left is None else f", about {left / 60:.1f} min left"
        speed = self.steps / self.seconds if self.seconds else 0.0
        return f"{self.solved} solved, {speed:.1f} steps/s{eta}"


class ConsoleProgress:
    """Shows progress on a console; use within `shown`."""

    def __init__(self, console: Console, clock: Clock) -> None:
        self._console = console
        self._clock = clock
        self._name = ""
        self.tally = Tally(clock)
        self._printed = clock.monotonic()
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._line = self._bar.add_task("", total=None, state="")

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Draw the line while the block runs."""
        with self._bar:
            yield

    def stage(self, name: str) -> None:
        """Name what is being done now."""
        self._name = name
        self._bar.update(self._line, description=name)
        if not self._console.is_terminal:
            self._console.print(name, highlight=False, markup=False)

    def expect(self, episodes: int, done: int) -> None:
        """Announce further episodes, `done` of which are stored already."""
        self.tally.expect(episodes, done)
        self._draw()

    def advance(self, episode: Episode) -> None:
        """Count a further episode as stored."""
        self.tally.advance(episode)
        self._draw()
        now = self._clock.monotonic()
        if not self._console.is_terminal and now - self._printed >= _LINE_EVERY_S:
            self._printed = now
            line = f"{self._name}: {self.tally.stored} of {self.tally.total}, {self.tally.text}"
            self._console.print(line, highlight=False, markup=False)

    def _draw(self) -> None:
        self._bar.update(
            self._line,
            total=self.tally.total,
            completed=self.tally.stored,
            state=f"{self.tally.solved} solved",
        )
