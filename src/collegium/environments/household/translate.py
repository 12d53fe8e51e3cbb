"""From the older grammar (`alfworld-0.3`) to the current one, or refused.

The two word four things differently: `put X in/on Y`, its answer, the arrival sentence, and
`help`, which the older one lacks. Everything else must be worded as the games word it: text of
the visual rooms, of other wrappers or of agents is refused, never guessed at.
"""

import re

from collegium.environments.household.wording import NOTHING_HAPPENS, ROOM

_NAME = r"[a-z]+ \d+"
_LIST = rf"(?:nothing|a {_NAME}(?:, a {_NAME})*(?:, and a {_NAME})?)"
_NAMES = rf"{_NAME}(?:, {_NAME})*(?:, and {_NAME})?"
_EXAMINED = (
    rf"(?:On the {_NAME}, you see {_LIST}\.|The {_NAME} is closed\."
    rf"|The {_NAME} is open\. In it, you see {_LIST}\.)"
)
_COMMANDS = tuple(
    re.compile(pattern)
    for pattern in (
        "look|inventory",
        rf"(?:go to|open|close|use|examine) {_NAME}",
        rf"take {_NAME} from {_NAME}",
        rf"(?:heat|clean|cool|slice) {_NAME} with {_NAME}",
    )
)
_PUT = re.compile(rf"put ({_NAME}) in/on ({_NAME})")
_WAS_PUT = re.compile(rf"You put the ({_NAME}) in/on the ({_NAME})\.")
_ARRIVED = re.compile(rf"(?:You arrive at loc \d+\. )?({_EXAMINED})")
_UNCHANGED = {
    verb: re.compile(pattern)
    for verb, pattern in {
        "look": rf"You are facing the {_NAMES}\. Next to it, you see {_LIST}\."
        rf"|{re.escape(ROOM)}nothing\.",
        "inventory": rf"You are carrying: a {_NAME}\.|You are not carrying anything\.",
        "open": rf"You open the {_NAME}\. {_EXAMINED}",
        "close": rf"You close the {_NAME}\.",
        "take": rf"You pick up the {_NAME} from the {_NAME}\.",
        "use": rf"You turn on the {_NAME}\.",
        "examine": rf"{_EXAMINED}|There's nothing special about {_NAME}\."
        rf"|This is a normal {_NAME}\. In it, you see {_LIST}\."
        rf"|This is a (?:(?:hot|cool|cold|clean|and|sliced) )+{_NAME}\.",
        "heat": rf"You heat the {_NAME} using the {_NAME}\.",
        "clean": rf"You clean the {_NAME} using the {_NAME}\.",
        "cool": rf"You cool the {_NAME} using the {_NAME}\.",
        "slice": rf"You sliced the {_NAME} with the {_NAME}\.",
    }.items()
}


def translate_action(text: str) -> str | None:
    """Return an old command in the current grammar; None if it is no command of the old one."""
    command = text.strip()
    if put := _PUT.fullmatch(command):
        return f"move {put[1]} to {put[2]}"
    return command if any(pattern.fullmatch(command) for pattern in _COMMANDS) else None


def translate_observation(action: str, text: str) -> str | None:
    """Return the answer to an old command in the current grammar.

    Args:
        action: The command as it was given, in the old grammar.
        text: The old answer, with or without a leading "You arrive at loc 12."

    Returns:
        None if `action` is no old command or `text` is not how the games answer it.
    """
    action, text = action.strip(), text.strip()
    if translate_action(action) is None:
        return None
    if text == NOTHING_HAPPENS:
        return text
    verb, _, rest = action.partition(" ")
    if verb == "put":
        put = _WAS_PUT.fullmatch(text)
        return f"You move the {put[1]} to the {put[2]}." if put else None
    if verb == "go":
        arrived = _ARRIVED.fullmatch(text)
        return f"You arrive at {rest.removeprefix('to ')}. {arrived[1]}" if arrived else None
    return text if _UNCHANGED[verb].fullmatch(text) else None
