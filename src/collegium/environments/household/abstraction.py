"""Another agent's experience in the terms of the present game.

Numbers name things of another house, so they are dropped; the producer's goal object and
destination become the consumer's. What is left is procedure: where such things are looked for,
and what is done to them in which order.
"""

from collections.abc import Mapping

from collegium.core import Chunk
from collegium.core.errors import InvalidInputError
from collegium.environments.household.compact import one_line, replace_words, without_numbers
from collegium.environments.household.goals import Goal, parse_goal


def hint(chunk: Chunk, goal_text: str) -> str:
    """Return one line: the chunk's goal and its actions, told for the goal `goal_text`.

    Example: `put a hot apple in fridge: go to microwave, heat apple with microwave, go to fridge`.
    """
    words = correspondence(chunk.goal, goal_text)
    actions = [abstract_action(step.action, words) for step in chunk.steps]
    told = one_line(replace_words(chunk.goal.rstrip(". "), dict(words)))
    return one_line(f"{told}: {', '.join(actions)}")


def abstract_action(action: str, words: Mapping[str, str]) -> str:
    """Return the command without numbers and with the producer's goal words replaced."""
    return one_line(replace_words(without_numbers(action), dict(words)))


def follows(action: str, suggested: str, *, goal: str, suggested_goal: str) -> bool:
    """Return whether `action` is what `suggested`, made for another goal, amounts to."""
    words = correspondence(suggested_goal, goal)
    return abstract_action(action, {}) == abstract_action(suggested, words)


def correspondence(theirs: str, ours: str) -> dict[str, str]:
    """Return the producer's words -> the consumer's; empty if either goal cannot be read."""
    try:
        source, target = parse_goal(theirs), parse_goal(ours)
    except InvalidInputError:
        return {}
    pairs = {source.object: target.object} | _destinations(source, target)
    return {old: new for old, new in pairs.items() if old != new}


def _destinations(source: Goal, target: Goal) -> dict[str, str]:
    """A lamp and a receptacle play different parts: only like is exchanged for like."""
    lamps = [goal.destination.endswith("lamp") for goal in (source, target)]
    same_part = lamps[0] == lamps[1]
    return {source.destination: target.destination} if same_part else {}
