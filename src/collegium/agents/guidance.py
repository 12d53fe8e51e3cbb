"""A retrieved chunk as the text of the paper's prompts (MATM appendix T.3).

A chunk of a failed trajectory is told as what did not work.
"""

from collegium.core import Guidance, GuidanceRef
from collegium.llm.prompts import load_prompt


class GuidanceText:
    """Renders guidance for prompts in words; the compact transcript has its own form."""

    def __init__(self) -> None:
        self._guidance = load_prompt("household_guidance")
        self._warning = load_prompt("household_warning")

    def __call__(self, guidance: Guidance | None) -> str:
        """Return the text of `guidance`; empty when there is none."""
        if guidance is None:
            return ""
        chunk = guidance.chunk
        template = self._guidance if chunk.success else self._warning
        return template.render(task=chunk.goal, steps=chunk.steps)


def guidance_ref(guidance: Guidance, text: str) -> GuidanceRef:
    """Return the record of `guidance` having been shown as `text`."""
    return GuidanceRef(
        chunk_id=guidance.chunk.chunk_id,
        producer=guidance.chunk.producer,
        rank=guidance.rank,
        retrieval_score=guidance.retrieval_score,
        text=text,
    )
