"""How a policy speaks to its model: one prompt out of a view, one action out of the answer.

A format owns the wording and the place of the guidance; it keeps no state, so one object serves
any number of episodes at once. `JsonFormat` asks for the paper's JSON answer, `TranscriptFormat`
continues an append-only transcript.
"""

from typing import Any, NamedTuple, Protocol

from collegium.agents.protocol import View
from collegium.core import Guidance
from collegium.llm.protocol import Message


class Prompt(NamedTuple):
    """One request to a model, before the agent's model, adapter and sampling are added."""

    text: str | tuple[Message, ...]
    choices: tuple[str, ...] | None
    """If given, the answer is exactly one of these."""
    json_schema: dict[str, Any] | None
    """If given, the answer is JSON that follows this schema."""
    stop: tuple[str, ...]
    guidance_text: str
    """The guidance exactly as it stands in `text`; empty when there is none."""


class PromptFormat(Protocol):
    """Renders what an agent sees and reads what it answers."""

    name: str

    def render(self, view: View, guidance: Guidance | None) -> Prompt:
        """Return the prompt for the next action, with `guidance` in its place if there is any."""
        ...

    def parse(self, text: str, view: View) -> str | None:
        """Return the action in the model's answer, or None if there is none to be read."""
        ...
