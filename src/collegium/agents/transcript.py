"""A transcript for small models: few tokens a step, append-only, guidance last.

::

    task: put a hot apple in fridge.
    room: cabinet 6, countertop 3, fridge 1, microwave 1
    go to countertop 1
    = apple 2, knife 1
    # put a hot apple in fridge: take apple from countertop, go to microwave, heat apple with ...
    take apple 2 from countertop 1

Everything before the guidance line is a prefix of every later prompt of the episode, so an engine
with prefix caching pays for the new tokens and the guidance only. The guidance line stands right
before the action it is for and is gone at the next step. The answer is one admissible command.
"""

from typing import Protocol

from collegium.agents.formats import Prompt
from collegium.agents.protocol import View
from collegium.core import Chunk, Guidance

END = "\n"
"""Ends an action."""


class ShortText(Protocol):
    """An environment's text in few tokens; every result is one line."""

    def room(self, initial_observation: str) -> str:
        """Return what the first observation says besides the goal."""
        ...

    def observation(self, text: str) -> str:
        """Return what an observation adds."""
        ...

    def hint(self, chunk: Chunk, goal: str) -> str:
        """Return the chunk told in the terms of `goal`."""
        ...


class TranscriptFormat:
    """The compact transcript as a `PromptFormat`."""

    name = "transcript"

    def __init__(self, text: ShortText) -> None:
        """Use the short wording of one environment."""
        self._text = text

    def render(self, view: View, guidance: Guidance | None) -> Prompt:
        """Return the transcript so far with the guidance after it."""
        hint = self.guidance_line(guidance.chunk, view.task.goal) if guidance else ""
        return Prompt(
            text=self.opening(view) + self.history(view) + hint,
            choices=tuple(view.admissible),
            json_schema=None,
            stop=(END,),
            guidance_text=hint.strip(),
        )

    def parse(self, text: str, view: View) -> str | None:
        """Return the action, or None if it is not admissible."""
        action = text.split(END, 1)[0].strip()
        return action if action in view.admissible else None

    def opening(self, view: View) -> str:
        """Return the lines before the first action."""
        return f"task: {view.task.goal}{END}room: {self._text.room(view.initial_observation)}{END}"

    def history(self, view: View) -> str:
        """Return an action line and an answer line a step."""
        return "".join(
            self.action_line(step.action) + self.answer_line(step.observation)
            for step in view.steps
        )

    @staticmethod
    def action_line(action: str) -> str:
        """Return the line that the model writes."""
        return f"{action}{END}"

    def answer_line(self, observation: str) -> str:
        """Return the line that the environment answers."""
        return f"= {self._text.observation(observation)}{END}"

    def guidance_line(self, chunk: Chunk, goal: str) -> str:
        """Return the guidance line as it stands right before an action.

        What failed is told as such; no training shows the packaged adapters such a line.
        """
        mark = "#" if chunk.success else "# did not work:"
        return f"{mark} {self._text.hint(chunk, goal)}{END}"
