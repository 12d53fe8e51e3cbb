"""The prompt format that a configuration names."""

from collegium.agents.formats import PromptFormat
from collegium.agents.json_format import JsonFormat
from collegium.agents.transcript import TranscriptFormat
from collegium.environments.household.short import HouseholdText
from collegium.runtime.jobs.configs import PlayingConfig


def build_format(config: PlayingConfig) -> PromptFormat:
    """Return the format; raises InvalidInputError when it does not know the grammar."""
    match config.format:
        case "transcript":
            return TranscriptFormat(HouseholdText())
        case "json" | "choice":
            return JsonFormat(config.grammar, answer=config.format)
