"""Populations in YAML: the agents of an experiment, one entry each.

A local agent whose entry gives no benchmark scores takes those of its adapter's card, which are
measured: success per task type on train games that were set aside.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Self

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from collegium.config import Config, load
from collegium.core import Agent, CorruptDataError, NotFoundError
from collegium.llm.adapters import find_adapter

CARD = "card.json"
LOCAL = "local"
"""Provider of agents whose adapters are files here; other providers know theirs by name."""


class Population(Config):
    """A population file."""

    description: str = ""
    """Who these agents are."""
    defaults: dict[str, Any] = Field(default_factory=dict)
    """Fields that every agent has unless its own entry says otherwise."""
    agents: tuple[Agent, ...] = Field(min_length=1)
    """The agents, in any order; ids are unique."""

    @model_validator(mode="before")
    @classmethod
    def _apply_defaults(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("defaults"), dict):
            return data
        agents = data.get("agents")
        if not isinstance(agents, list):
            return data
        entries = [data["defaults"] | a if isinstance(a, dict) else a for a in agents]
        return data | {"agents": entries}

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Self:
        repeated = [id_ for id_, n in Counter(a.id for a in self.agents).items() if n > 1]
        if repeated:
            raise ValueError(f"agents: ids given more than once: {', '.join(repeated)}")
        return self


def load_population(file: Path | str) -> tuple[Agent, ...]:
    """Return the agents of a population file, with their benchmark scores.

    Raises:
        NotFoundError: The file, or the adapter of an agent, is not there.
        ConfigError: The file is not a population; the message names file and place.
        CorruptDataError: An adapter's card cannot be read.
    """
    population = load(Population, [file])
    try:
        return tuple(map(_with_measured_benchmarks, population.agents))
    except NotFoundError as error:
        raise NotFoundError(f"{file}: {error}") from None


def _with_measured_benchmarks(agent: Agent) -> Agent:
    if agent.adapter is None or agent.provider != LOCAL:
        return agent
    try:
        card = find_adapter(agent.adapter) / CARD
    except NotFoundError as error:
        raise NotFoundError(f"agent {agent.id}: {error}") from None
    if agent.benchmarks or not card.is_file():
        return agent
    return agent.model_copy(update={"benchmarks": _card_benchmarks(card)})


def _card_benchmarks(card: Path) -> dict[str, float]:
    try:
        data = json.loads(card.read_text(encoding="utf-8"))
        return TypeAdapter(dict[str, float]).validate_python(data.get("benchmarks", {}))
    except (ValueError, AttributeError, ValidationError) as error:
        raise CorruptDataError(
            f"{card}: expected a JSON object whose `benchmarks` map names to numbers: {error}"
        ) from None
