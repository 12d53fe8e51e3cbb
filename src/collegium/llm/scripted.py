"""An engine whose answers are a function of the request: for tests and dry runs.

Tokens are counted as words. Everything the protocol promises is checked, so a test that passes on
a script does not fail on an engine for a reason the script let through.
"""

from collections.abc import Callable

from collegium.core import EngineError, Usage
from collegium.llm.protocol import Completion, Request


class ScriptedEngine:
    """Answers each request with `answer(request)`; keeps the requests it saw, in order."""

    def __init__(self, answer: Callable[[Request], str], model: str = "scripted") -> None:
        """Use `answer`, which may raise EngineError to play a broken engine."""
        self.model = model
        self.requests: list[Request] = []
        self._answer = answer

    async def complete(self, request: Request) -> Completion:
        """Return the scripted text; raises EngineError if it is not among the choices."""
        self.requests.append(request)
        text = self._answer(request)
        if request.choices is not None and text not in request.choices:
            raise EngineError(f"the script answered {text!r}, which is none of the choices")
        usage = Usage(calls=1, prompt_tokens=_words(request), completion_tokens=len(text.split()))
        return Completion(text=text, finish_reason="stop", usage=usage)

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""


def _words(request: Request) -> int:
    if isinstance(request.prompt, str):
        return len(request.prompt.split())
    return sum(len(message.content.split()) for message in request.prompt)
