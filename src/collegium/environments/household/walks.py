"""Episodes that two engines must answer alike, and their digests.

A plan chooses commands from nothing but a seed and the admissible lists it is shown, so an episode
recorded from TextWorld is replayed here without storing a single command. Only hashes are kept:
one of the whole, and eight hex digits a step to find the first step that differs.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from random import Random
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from collegium.core import canonical_json, integer_seed
from collegium.environments.protocol import Turn

RESET = "<reset>"
"""Stands for the command in the record of a reset."""
WALK_STEPS = 60
_REFUSAL_EVERY = 3
_STEP_DIGITS = 8
_SHARES = {"help": 0.2, "inventory": 0.4, "look": 1.0, "examine": 2.0, "go": 6.0, "take": 3.0}
"""How often a walk uses a verb, relative to 1.5 of the others; treatments come when they can."""
_OTHER_SHARE = 1.5
_UNCHANGING = frozenset({"examine", "go", "help", "inventory", "look", "open", "close"})
_CHECKS = frozenset({"examine", "look"})
_CHECKING = 0.6

Plan = Generator[str, Turn, None]
"""Yields a command, is sent the turn that answers it."""


class Player(Protocol):
    """What plays a game, ours or the oracle."""

    def reset(self) -> Turn:
        """Return to the initial state and give its turn."""
        ...

    def step(self, action: str) -> Turn:
        """Carry out `action`."""
        ...


class EpisodeDigest(BaseModel):
    """An episode as it is stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    digest: str
    """SHA-256 over all its step records."""
    steps: str
    """Eight hex digits a step, the reset included."""

    @property
    def length(self) -> int:
        """Number of records."""
        return len(self.steps) // _STEP_DIGITS


def plan_episode(task_id: str, walkthrough: Sequence[str], seed: int) -> Callable[[Turn], Plan]:
    """Return the plan of a game, to be started with the turn of a reset.

    First comes the walkthrough, then a walk of `WALK_STEPS` steps that is balanced by verb; every
    third of its steps is followed by a spoilt command, which is mostly refused.
    """
    stream = Random(integer_seed(seed, "parity", task_id))
    return lambda turn: _episode(turn, walkthrough, stream)


def transcribe(player: Player, start: Callable[[Turn], Plan]) -> Iterator[tuple[str, Turn]]:
    """Play the plan that `start` gives; yield each command with its answer, the reset first."""
    turn = player.reset()
    yield RESET, turn
    plan = start(turn)
    command = next(plan, None)
    while command is not None:
        turn = player.step(command)
        yield command, turn
        try:
            command = plan.send(turn)
        except StopIteration:
            return


def digest_episode(player: Player, start: Callable[[Turn], Plan]) -> EpisodeDigest:
    """Play the plan that `start` gives and return the digest of what `player` answered."""
    records = [_record(command, turn) for command, turn in transcribe(player, start)]
    return EpisodeDigest(
        digest=_sha256("\n".join(records)),
        steps="".join(_sha256(record)[:_STEP_DIGITS] for record in records),
    )


def first_difference(ours: EpisodeDigest, theirs: EpisodeDigest) -> int | None:
    """Return the index of the first differing record (0 is the reset), or None if none differs."""
    if ours == theirs:
        return None
    pairs = zip(_split(ours.steps), _split(theirs.steps), strict=False)
    differing = (index for index, (mine, other) in enumerate(pairs) if mine != other)
    return next(differing, min(ours.length, theirs.length))


def _episode(turn: Turn, walkthrough: Sequence[str], stream: Random) -> Plan:
    seen = set(turn.admissible)
    for command in walkthrough:
        turn = yield command
        seen.update(turn.admissible)
    used: Counter[str] = Counter()
    changed = False
    for index in range(WALK_STEPS):
        command = _lagging(turn.admissible, used, changed, stream)
        used[_verb(command)] += 1
        changed = _verb(command) not in _UNCHANGING
        turn = yield command
        seen.update(turn.admissible)
        if index % _REFUSAL_EVERY == 0:
            turn = yield _spoilt(turn.admissible, seen, stream)


def _lagging(commands: Sequence[str], used: Counter[str], changed: bool, stream: Random) -> str:
    """Return a command of the verb that lags its share most; after a change, often a check."""
    verbs = {_verb(c) for c in commands}
    if changed and stream.random() < _CHECKING:
        verbs &= _CHECKS
    verb = min(
        sorted(verbs), key=lambda v: (used[v] + stream.random()) / _SHARES.get(v, _OTHER_SHARE)
    )
    return _pick([c for c in commands if _verb(c) == verb], stream)


def _balanced(commands: Sequence[str], stream: Random) -> str:
    """Choose a verb, then one of its commands: plain choice would mostly `go to`."""
    verb = _pick(sorted({_verb(c) for c in commands}), stream)
    return _pick([c for c in commands if _verb(c) == verb], stream)


def _verb(command: str) -> str:
    return command.partition(" ")[0]


def _spoilt(commands: Sequence[str], seen: set[str], stream: Random) -> str:
    """Return a command that is not admissible, or is so only by a hair."""
    command = _balanced(commands, stream)
    stale = sorted(seen.difference(commands))
    other = _balanced(commands, stream)
    return _pick(
        (
            "",
            command.upper(),
            command.capitalize(),
            command.replace(" ", "  ", 1),
            f"{command} 1",
            f"{command}.",
            f"  {command}\t",
            _verb(command),
            f"{_verb(command)} {other.partition(' ')[2]}",
            command.rpartition(" ")[0],
            command.replace(" to ", " in/on ").replace("move ", "put "),
            _pick(stale or ("wait",), stream),
            _pick(stale or ("wait",), stream),
        ),
        stream,
    )


def _pick(items: Sequence[str], stream: Random) -> str:
    # Random.random alone is promised to give the same numbers in every Python version.
    return items[int(stream.random() * len(items))]


def _record(command: str, turn: Turn) -> str:
    return canonical_json(
        [command, turn.observation, list(turn.admissible), turn.won, turn.done, int(turn.score)]
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _split(steps: str) -> list[str]:
    return [steps[i : i + _STEP_DIGITS] for i in range(0, len(steps), _STEP_DIGITS)]
