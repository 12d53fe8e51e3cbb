"""When an engine in a process of its own is given up: deadlines and restarts."""

from pydantic import Field

from collegium.config import Config


class WatchConfig(Config):
    """When an engine counts as hung, and how often it may be replaced."""

    start_deadline_s: float = Field(default=600.0, gt=0)
    """An engine that takes longer to start, a first merge of weights included, is killed."""
    request_deadline_s: float = Field(default=300.0, gt=0)
    """An engine that leaves a request without an answer for longer, its wait in the engine's queue
    included, is killed and replaced."""
    max_restarts: int = Field(default=3, ge=0)
    """Replacements of an engine that died before each further request fails at once."""
