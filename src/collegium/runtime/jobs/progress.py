"""Progress and expected time of a run, on the driver's standard error.

On a terminal one line that redraws itself, elsewhere (logs of a cluster job) a line now and then.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
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
    """Counts the episodes of one stage, and tells from their pace how long the rest will take.

    The pace is measured from the first episode on: what came before was the start of engines.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.total = 0
        self.stored = 0
        self.solved = 0
        self._first: float | None = None
        self._played = 0
        self._steps = 0

    def expect(self, episodes: int, done: int) -> None:
        """Announce further episodes, `done` of which are stored already."""
        self.total += episodes
        self.stored += done

    def advance(self, episode: Episode) -> None:
        """Count an episode."""
        self.stored += 1
        self.solved += episode.trajectory.success
        if self._first is None:
            self._first = self._clock.monotonic()
            return
        self._played += 1
        self._steps += len(episode.trajectory.steps)

    @property
    def text(self) -> str:
        """What was solved in this stage and attempt, the pace, and the expected time left."""
        seconds = 0.0 if self._first is None else self._clock.monotonic() - self._first
        if not self._played or not seconds:
            return f"{self.solved} solved"
        left = seconds / self._played * (self.total - self.stored)
        pace = f"{self._steps / seconds:.1f} steps/s, about {left / 60:.1f} min left"
        return f"{self.solved} solved, {pace}"


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
        self.tally = Tally(self._clock)
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
            state=self.tally.text,
        )
