"""The paper's household prompts (MATM appendix T.2 and T.3), for models able to follow them.

The model answers with JSON, `{"reasoning": ..., "action": ...}`, whose action must be one of the
admissible commands to the letter; or, with `answer="choice"`, with one of the commands alone.
"""

import json
from typing import Any, Literal

from collegium.agents.formats import Prompt
from collegium.agents.guidance import GuidanceText
from collegium.agents.history import recent_history
from collegium.agents.protocol import View
from collegium.core import Guidance, InvalidInputError
from collegium.llm.prompts import load_examples, load_prompt
from collegium.llm.protocol import Message

ACTIONS = {
    "alfworld-0.4": (
        "go to recep",
        "take obj from recep",
        "move obj to recep",
        "open recep",
        "close recep",
        "use obj",
        "clean obj with recep",
        "heat obj with recep",
        "cool obj with recep",
    ),
}
"""Grammar -> the list of actions in the system message; the paper's is that of an older grammar."""

ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "action": {"type": "string"}},
    "required": ["reasoning", "action"],
    "additionalProperties": False,
}

Answer = Literal["json", "choice"]


class JsonFormat:
    """Prompts in words: system message with a one-shot example, user message with the state."""

    def __init__(
        self,
        grammar: str,
        *,
        answer: Answer = "json",
    ) -> None:
        """Load and check the prompt files.

        Args:
            grammar: The grammar of the games to be played.
            answer: Whether the model reasons in JSON, or only names its choice.

        Raises:
            InvalidInputError: There is no prompt for `grammar`.
        """
        if grammar not in ACTIONS:
            raise InvalidInputError(
                f"no household prompt for grammar {grammar!r}; known: {', '.join(ACTIONS)}"
            )
        self.name: str = answer
        self._answer = answer
        self._actions = ACTIONS[grammar]
        self._system = load_prompt("household_system")
        self._user = load_prompt("household_user")
        self._examples = load_examples("household")
        self._guidance = GuidanceText()

    def render(self, view: View, guidance: Guidance | None) -> Prompt:
        """Return the prompt; raises InvalidInputError for a task type without an example."""
        guidance_text = self._guidance(guidance)
        messages = (
            Message(role="system", content=self._system_text(view.task.task_type)),
            Message(role="user", content=self._user_text(view, guidance_text)),
        )
        in_json = self._answer == "json"
        return Prompt(
            text=messages,
            choices=None if in_json else view.admissible,
            json_schema=ANSWER_SCHEMA if in_json else None,
            stop=(),
            guidance_text=guidance_text,
        )

    def parse(self, text: str, view: View) -> str | None:
        """Return the answer's action if it is admissible, character for character."""
        action = _json_action(text) if self._answer == "json" else text.strip()
        return action if action in view.admissible else None

    def _system_text(self, task_type: str) -> str:
        if task_type not in self._examples:
            known = ", ".join(self._examples)
            raise InvalidInputError(f"no example for task type {task_type!r}; known: {known}")
        return self._system.render(
            actions=self._actions,
            json_answer=self._answer == "json",
            example=self._examples[task_type],
        )

    def _user_text(self, view: View, guidance_text: str) -> str:
        return self._user.render(
            goal=view.task.goal,
            step=len(view.steps),
            step_limit=view.step_limit,
            history=recent_history(view),
            guidance=guidance_text,
            observation=view.observation,
            actions=view.admissible,
            json_answer=self._answer == "json",
        )


def _json_action(text: str) -> str | None:
    """Return the `action` of the first JSON object in `text`, also out of a fence or chatter."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        answer, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    action = answer.get("action")
    return action if isinstance(action, str) else None
