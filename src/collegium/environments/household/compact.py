"""Household text in few tokens, for small models: what an observation adds, and nothing else.

Pure functions of one text each, so a transcript built from them only ever grows at its end.
Observations that fit no known wording stay as they are, on one line: nothing a game or another
agent wrote can start a line of its own.
"""

import re
from collections.abc import Callable

_LISTING = re.compile(r"(?:you see|is open\. In it, you see) (?P<items>.+)\.$")
_CLOSED = re.compile(r"The [a-z]+ \d+ is closed\.$")
_ITEM = re.compile(r"\ba ([a-z]+(?: \d+)?)")
_NUMBERED = re.compile(r"([a-z]+) (\d+)")
_DONE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"You pick up "), "taken"),
    (re.compile(r"You move "), "moved"),
    (re.compile(r"You (?:heat|cool|clean) "), "done"),
    (re.compile(r"You turn on "), "on"),
    (re.compile(r"You close "), "shut"),
    (re.compile(r"Nothing happens\."), "no effect"),
)
_ROOM = re.compile(r"Looking quickly around you, you see (?P<items>.+?)\.(?:\n|$)")


def compact_room(initial_observation: str) -> str:
    """Return the room's receptacle types with the highest number of each: "cabinet 6, fridge 1"."""
    found = _ROOM.search(initial_observation)
    if not found:
        return one_line(initial_observation)
    highest: dict[str, int] = {}
    for name, number in _NUMBERED.findall(found["items"]):
        highest[name] = max(highest.get(name, 0), int(number))
    return ", ".join(f"{name} {highest[name]}" for name in sorted(highest))


def compact_observation(text: str) -> str:
    """Return what the observation says in few words: "cd 1, keychain 3", "closed", "taken"."""
    stripped = text.strip()
    for pattern, word in _DONE:
        if pattern.match(stripped):
            return word
    if _CLOSED.search(stripped):
        return "closed"
    if listing := _LISTING.search(stripped):
        return ", ".join(_ITEM.findall(listing["items"])) or "nothing"
    return one_line(stripped)


def one_line(text: str, limit: int = 400) -> str:
    """Return the text without line breaks and cut to `limit` characters."""
    return " ".join(text.split())[:limit]


def without_numbers(command: str) -> str:
    """Return the command with types only: "take mug 2 from shelf 1" -> "take mug from shelf"."""
    return re.sub(r" \d+\b", "", command)


def replace_words(text: str, words: dict[str, str]) -> str:
    """Return the text with whole words replaced, all at once (swaps are safe)."""
    if not words:
        return text
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, sorted(words))) + r")\b")
    substitute: Callable[[re.Match[str]], str] = lambda found: words[found[0]]  # noqa: E731
    return pattern.sub(substitute, text)
