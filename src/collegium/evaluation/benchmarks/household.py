"""Speed and exactness of the household engine, side by side with TextWorld in one run.

Speeds count steps per second of this process's CPU time ("on one core"), over the parity episodes
of a sample of games: every step builds observation and admissible list, nothing is cached. Other
work on the machine still disturbs CPU caches and clocks, so our figures are the best of several
passes, and a load time is the best of three for each game, with the garbage collector frozen;
`load_ms_max` is the slowest game. TextWorld plays the beginning of the same episodes once.
"""

import gc
import gzip
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from collegium.environments.household import GameStore, Household, load_game, unpack_games
from collegium.environments.household.oracle import Oracle, oracle_is_installed
from collegium.environments.household.parity import (
    compare,
    compare_trace,
    read_recordings,
    sample_tasks,
)
from collegium.environments.household.walks import plan_episode, transcribe
from collegium.evaluation.benchmarks.result import BenchResult, Target

TARGETS = {
    "steps_per_s": Target(min=100_000),
    "speed_ratio": Target(min=3_000),
    "load_ms_mean": Target(max=5),
    "load_ms_max": Target(max=20),
    "fork_us": Target(max=2),
    "parity_mismatches": Target(max=0),
}
_CHECKOUT = Path(__file__).resolve().parents[4]
_GOLDEN = _CHECKOUT / "tests" / "golden" / "household_parity.jsonl"
_SEED = 0
_GAMES = 24
_LOADED_GAMES = 300
_ORACLE_GAMES = 4
_ORACLE_STEPS = 40
_PASSES = 7
_LOADS = 3
_FORKS = 20_000


class Played(NamedTuple):
    """A game file with the commands of its episode."""

    path: Path
    commands: tuple[str, ...]


def run() -> BenchResult:
    """Measure and check; takes about a minute, most of it TextWorld's.

    Games come from ALFWORLD_DATA, else from the archives in the shared data directory.

    Raises:
        NotFoundError: If there are no games; the message says what to run.
    """
    with _games() as store:
        paths = [store.path(task) for task in sample_tasks(store, _SEED)[:_LOADED_GAMES]]
        load_mean, load_max = _load_ms(paths)
        episodes = [_play(path) for path in paths[:_GAMES]]
        figures: dict[str, int | float | None] = {
            "steps_per_s": _steps_per_s(episodes),
            "speed_ratio": _speed_ratio(episodes[:_ORACLE_GAMES]),
            "load_ms_mean": load_mean,
            "load_ms_max": load_max,
            "fork_us": _fork_us(episodes[0]),
            **_parity(store),
        }
    return BenchResult.judge("household", figures, TARGETS, _notes(figures))


def _notes(figures: dict[str, int | float | None]) -> tuple[str, ...]:
    remedies = {
        "speed_ratio": "install TextWorld, which is measured in the same run:"
        " pip install 'collegium[parity]'",
        "parity_mismatches": f"record the digests that should be at {_GOLDEN}: make parity",
    }
    return tuple(
        f"{name} was not measured: {remedy}"
        for name, remedy in remedies.items()
        if figures[name] is None
    )


@contextmanager
def _games() -> Iterator[GameStore]:
    """Give the games of ALFWORLD_DATA, else unpack those of the shared data for this run."""
    archives = _shared_data() / "alfworld"
    if "ALFWORLD_DATA" in os.environ or not archives.is_dir():
        yield GameStore()
        return
    with tempfile.TemporaryDirectory() as directory:
        unpack_games(archives, Path(directory))
        yield GameStore(Path(directory))


def _shared_data() -> Path:
    named = os.environ.get("COLLEGIUM_SHARED_DATA")
    return Path(named) if named else _CHECKOUT.parent / "shared" / "data"


def _play(path: Path) -> Played:
    game = load_game(path)
    plan = plan_episode(game.task.task_id, game.walkthrough, _SEED)
    return Played(path, tuple(command for command, _ in transcribe(Household(game), plan))[1:])


def _load_ms(paths: Sequence[Path]) -> tuple[float, float]:
    """Return mean and maximum over the games of the best of some loads, in ms."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        times = [_best_load(path) for path in paths]
    finally:
        gc.enable()
        gc.unfreeze()
    return 1e3 * sum(times) / len(times), 1e3 * max(times)


def _best_load(path: Path) -> float:
    return min(_seconds(lambda: load_game(path), time.perf_counter) for _ in range(_LOADS))


def _steps_per_s(episodes: Sequence[Played]) -> float:
    households = [(Household(load_game(played.path)), played.commands) for played in episodes]

    def play_all() -> None:
        for household, commands in households:
            household.reset()
            for command in commands:
                household.step(command)

    steps = sum(len(commands) for _, commands in households)
    return steps / min(_seconds(play_all, time.process_time) for _ in range(_PASSES))


def _speed_ratio(episodes: Sequence[Played]) -> float | None:
    """Return our steps/s over TextWorld's on the same commands; None without TextWorld."""
    if not oracle_is_installed():
        return None
    beginnings = [Played(path, commands[:_ORACLE_STEPS]) for path, commands in episodes]
    seconds = sum(map(_oracle_seconds, beginnings))
    return _steps_per_s(beginnings) * seconds / sum(len(b.commands) for b in beginnings)


def _oracle_seconds(played: Played) -> float:
    oracle = Oracle(played.path)
    try:
        oracle.reset()
        return _seconds(lambda: [oracle.step(c) for c in played.commands], time.process_time)
    finally:
        oracle.close()


def _fork_us(played: Played) -> float:
    household = Household(load_game(played.path))
    for command in played.commands:
        household.step(command)

    def fork_often() -> None:
        for _ in range(_FORKS):
            household.fork()

    return 1e6 * min(_seconds(fork_often, time.process_time) for _ in range(_PASSES)) / _FORKS


def _parity(store: GameStore) -> dict[str, int | float | None]:
    """Count the recorded digests and traces, and how many our engine answers otherwise."""
    recordings = list(read_recordings(_GOLDEN)) if _GOLDEN.exists() else []
    digests = [compare(row, store.load(row.task)) for row in recordings]
    traces = [compare_trace(records, load_game(path)) for path, records in _traces(store)]
    differ = sum(difference is not None for difference in chain(digests, traces))
    return {
        "parity_digests": len(digests),
        "parity_traces": len(traces),
        "parity_mismatches": differ if digests else None,
    }


def _traces(store: GameStore) -> Iterator[tuple[Path, list[list[object]]]]:
    """Give the recorded traces of the shared data, if it is there."""
    path = _shared_data() / "alfworld" / "oracle_traces.jsonl.gz"
    if not path.exists():
        return
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            trace = json.loads(line)
            yield store.root / trace["game"], trace["records"]


def _seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return clock() - start
