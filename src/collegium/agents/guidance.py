"""A retrieved chunk as the text of the paper's prompts (MATM appendix T.3)."""

from collegium.core import Guidance, GuidanceRef
from collegium.llm.prompts import load_prompt


class GuidanceText:
    """Renders guidance for prompts in words; the compact transcript has its own form."""

    def __init__(self) -> None:
        self._template = load_prompt("household_guidance")

    def __call__(self, guidance: Guidance | None) -> str:
        """Return the text of `guidance`; empty when there is none."""
        if guidance is None:
            return ""
        return self._template.render(task=guidance.chunk.goal, steps=guidance.chunk.steps)


def guidance_ref(guidance: Guidance, text: str) -> GuidanceRef:
    """Return the record of `guidance` having been shown as `text`."""
    return GuidanceRef(
        chunk_id=guidance.chunk.chunk_id,
        producer=guidance.chunk.producer,
        rank=guidance.rank,
        retrieval_score=guidance.retrieval_score,
        text=text,
    )
