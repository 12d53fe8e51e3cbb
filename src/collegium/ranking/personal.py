"""Personalisation with back-off: a ranker of the consumer, of its group, of the population.

The three are trained alike, on the labels of the consumer, of its clone group (agents of one model,
where no group is named), and of all. Their scores are brought to the same spread and mixed::

    score = a · consumer + (1 - a) · (b · group + (1 - b) · population)
    a, b  = n / (n + patience)     with n the groups of labels at that level that tell an order

so that an agent with many labels has a ranker of its own, a new one is served by its group's, and
an agent of an unknown group by the population's.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import ValidationError

from collegium.core import Agent, CorruptDataError, NotFoundError, Record
from collegium.ranking.configs import AnyRankerConfig, PersonalConfig
from collegium.ranking.groups import TrainingSet
from collegium.ranking.protocol import Matrix, Ranker, Vector
from collegium.ranking.schema import CONSUMER_ID
from collegium.store.files import write_text

Fit = Callable[[AnyRankerConfig, TrainingSet, int], Ranker]

_FILE = "personal.json"
POPULATION = "population"


class LevelCard(Record):
    """One ranker of the mixture."""

    groups: int
    """Groups of labels that tell an order."""
    spread: float
    """Standard deviation of its scores in training."""


class _Plan(Record):
    """The file personal.json."""

    schema_version: Literal[1] = 1
    base: str
    """Kind of the rankers."""
    patience: float
    consumers: tuple[str, ...]
    first_column: int
    """Of the consumers' ids in a feature matrix."""
    clones: dict[str, str]
    """Consumer -> group."""
    levels: dict[str, LevelCard]
    """By name: `population`, `group/<name>`, `consumer/<name>`."""


class _Level(NamedTuple):
    ranker: Ranker
    card: LevelCard

    def score(self, features: Matrix) -> Vector:
        """Return scores of spread 1."""
        return np.asarray(self.ranker.score(features) / self.card.spread)


class PersonalRanker:
    """A `Ranker` that reads from the features whose request it is."""

    kind = "personal"

    def __init__(self, plan: _Plan, rankers: Mapping[str, Ranker]) -> None:
        self._plan = plan
        self._levels = {name: _Level(rankers[name], card) for name, card in plan.levels.items()}

    def score(self, features: Matrix) -> Vector:
        """See `Ranker.score`; a consumer without a column has the population's."""
        first = self._plan.first_column
        ids = features[:, first : first + len(self._plan.consumers)]
        scores = np.empty(len(features))
        for place in {int(row.argmax()) if row.any() else -1 for row in ids}:
            rows = ids[:, place] > 0 if place >= 0 else ~ids.any(axis=1)
            consumer = self._plan.consumers[place] if place >= 0 else ""
            group = self._plan.clones.get(consumer, "")
            scores[rows] = self._mixed(features[rows], consumer, group)
        return scores

    def score_as(self, features: Matrix, group: str) -> Vector:
        """Return scores for an agent of `group` that has no labels of its own."""
        return self._mixed(features, "", group)

    def shares(self, consumer: str, group: str) -> dict[str, float]:
        """Return how much each level counts for `consumer`, those that count nothing left out."""
        left, shares = 1.0, {}
        for name in (f"consumer/{consumer}", f"group/{group}"):
            if level := self._levels.get(name):
                share = level.card.groups / (level.card.groups + self._plan.patience)
                shares[name] = left * share
                left *= 1.0 - share
        return {**shares, POPULATION: left}

    def save(self, folder: Path) -> None:
        """See `Ranker.save`; each level has a folder of its own."""
        for number, level in enumerate(self._levels.values()):
            place = folder / f"level-{number}"
            place.mkdir(exist_ok=True)
            level.ranker.save(place)
        write_text(folder / _FILE, self._plan.model_dump_json(indent=1) + "\n")

    def _mixed(self, features: Matrix, consumer: str, group: str) -> Vector:
        total = np.zeros(len(features))
        for name, share in self.shares(consumer, group).items():
            total += share * self._levels[name].score(features)
        return total


def clone_group(agent: Agent) -> str:
    """Return the group whose labels stand in for the agent's own."""
    return agent.clone_group or agent.model


def fit_personal(config: PersonalConfig, data: TrainingSet, seed: int, fit: Fit) -> PersonalRanker:
    """Train on `data`; `fit` trains each level."""
    columns = data.schema.blocks[CONSUMER_ID]
    rankers: dict[str, Ranker] = {}
    levels = {}
    for name, chosen in _members(data).items():
        telling = sum(map(data.tells_order, chosen))
        if name != POPULATION and telling < config.least:
            continue
        part = data.subset(chosen)
        ranker = fit(config.base, part, seed)
        spread = float(ranker.score(part.features).std())
        if spread > 0 or name == POPULATION:
            rankers[name] = ranker
            levels[name] = LevelCard(groups=telling, spread=spread or 1.0)
    plan = _Plan(
        base=config.base.kind,
        patience=config.patience,
        consumers=data.schema.consumers,
        first_column=columns.start,
        clones=dict(data.clones),
        levels=levels,
    )
    return PersonalRanker(plan, rankers)


def load_personal(folder: Path, load: Callable[[str, Path], Ranker]) -> PersonalRanker:
    """Return what `PersonalRanker.save` wrote; raises NotFoundError or CorruptDataError."""
    file = folder / _FILE
    try:
        plan = _Plan.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        raise NotFoundError(f"{file} is not there: train the ranker again") from None
    except ValidationError as error:
        raise CorruptDataError(f"{file} cannot be read: {error}") from None
    places = {name: folder / f"level-{number}" for number, name in enumerate(plan.levels)}
    return PersonalRanker(plan, {name: load(plan.base, at) for name, at in places.items()})


def _members(data: TrainingSet) -> dict[str, list[int]]:
    """Return the places of the groups of each level, the population first."""
    members: dict[str, list[int]] = {POPULATION: list(range(len(data.groups)))}
    for place, group in enumerate(data.groups):
        consumer = group.query.consumer
        clones = data.clones.get(consumer, "")
        members.setdefault(f"group/{clones}", []).append(place)
        members.setdefault(f"consumer/{consumer}", []).append(place)
    return members
