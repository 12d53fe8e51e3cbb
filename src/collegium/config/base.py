"""The base of all configurations: immutable, unknown keys refused, secrets never printed.

Each field is documented by the bare string under it. A renamed field keeps no alias.
"""

from pydantic import BaseModel, ConfigDict

from collegium.core import content_id


class Config(BaseModel):
    """Base of all configurations. Use `pydantic.SecretStr` for anything secret."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def digest(config: Config) -> str:
    """Return the content id of the resolved configuration (secrets count as masked)."""
    return content_id(config.model_dump(mode="json"), length=16)
