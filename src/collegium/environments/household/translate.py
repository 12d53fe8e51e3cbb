"""Commands of either grammar in the current one, or refused.

The two word one command differently, `put X in/on Y` and `move X to Y`; `help` is of the current
one alone. Everything else must be worded as the games word it: thoughts, code, text of other
wrappers or of agents is refused, never guessed at. Answers are not translated: a recorded episode
is carried out again, and the engine's own are stored.
"""

import re

_NAME = r"[a-z]+ \d+"
_COMMANDS = tuple(
    re.compile(pattern)
    for pattern in (
        "look|inventory|help",
        rf"(?:go to|open|close|use|examine) {_NAME}",
        rf"take {_NAME} from {_NAME}",
        rf"move {_NAME} to {_NAME}",
        rf"(?:heat|clean|cool|slice) {_NAME} with {_NAME}",
    )
)
_PUT = re.compile(rf"put ({_NAME}) in/on ({_NAME})")


def translate_action(text: str) -> str | None:
    """Return a command in the current grammar; None if it is a command of neither grammar."""
    command = text.strip()
    if put := _PUT.fullmatch(command):
        return f"move {put[1]} to {put[2]}"
    return command if any(pattern.fullmatch(command) for pattern in _COMMANDS) else None
