"""Which examples an adapter learns from: task types, noise, guidance, disguises, a token budget.

Tasks set aside (by seed) are never trained on, so they can measure the adapters later. The order
of tasks is shuffled once; a second pass over them plays the expert with other noise.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from pydantic import Field, field_validator

from collegium.agents.transcript import TranscriptFormat
from collegium.config import Config
from collegium.core import Chunk, Guidance, InvalidInputError, Task, generator, integer_seed
from collegium.environments.household.engine import Household
from collegium.environments.household.goals import TaskType
from collegium.environments.household.store import GameStore
from collegium.experience.demonstrations import (
    TREATMENTS,
    Moment,
    build_example,
    demonstrate,
    disguise,
    draw_disguise,
    guide,
)
from collegium.experience.memory import Snapshot
from collegium.experience.retrieval import RetrievalConfig
from collegium.llm.finetune.examples import Encoded, Example, encode

_AT_ONCE = 64
"""Episodes guided together, so that their queries are embedded in batches."""


class CurriculumConfig(Config):
    """What one adapter sees."""

    task_types: tuple[TaskType, ...] = Field(min_length=1)
    """Only episodes of these task types, each named once."""
    tokens: int = Field(gt=0)
    """Stop adding examples at this many tokens."""
    noisy_share: float = Field(default=0.5, ge=0, le=1)
    """Share of the episodes in which the expert's steps are sometimes random."""
    noise: float = Field(default=0.15, ge=0, le=1)
    """Probability of a random step in those."""
    guided_share: float = Field(default=0.6, ge=0, le=1)
    """Share of the episodes with guidance at some steps."""
    guided_steps: int = Field(default=4, ge=0)
    """Most steps of an episode with guidance."""
    misleading_share: float = Field(default=0.12, ge=0, le=1)
    """Share of the guidance that comes from anywhere instead of from retrieval."""
    disguised_share: float = Field(default=0.6, ge=0, le=1)
    """Share of the guided episodes with a treatment that is told in other words."""
    seed: int = 0
    """Seed of the choice of games and of everything random in the examples."""

    @field_validator("task_types")
    @classmethod
    def _each_once(cls, kinds: tuple[TaskType, ...]) -> tuple[TaskType, ...]:
        if len(set(kinds)) < len(kinds):
            raise ValueError("a task type is named twice: name each one once")
        return kinds


class Material(NamedTuple):
    """What all adapters of a run learn from."""

    tasks: Sequence[Task]
    """To be trained on."""
    store: GameStore
    memory: Snapshot
    """Where guidance comes from."""
    retrieval: RetrievalConfig
    """What a retrieval may return: as when the adapter will act."""
    grammar: str
    text: TranscriptFormat
    tokenize: Callable[[str], Sequence[int]]


def set_aside(tasks: Sequence[Task], count: int, seed: int) -> tuple[list[Task], list[Task]]:
    """Return (tasks to train on, `count` tasks that are not); the same for all adapters."""
    order = generator(seed, "aside").permutation(len(tasks))
    return [tasks[i] for i in order[count:]], [tasks[i] for i in order[:count]]


def build_curriculum(material: Material, config: CurriculumConfig) -> list[Encoded]:
    """Return encoded examples up to the token budget; deterministic under the seed.

    Raises:
        InvalidInputError: No task is of the configured types, or the expert wins none of them.
    """
    rng = generator(config.seed, "curriculum", *config.task_types)
    builder = _Builder(list(material.memory.chunks()), material.text, config, rng)
    encoded: list[Encoded] = []
    spent = 0
    episodes = _episodes(material, config, rng)
    while spent < config.tokens:
        group = [next(episodes) for _ in range(_AT_ONCE)]
        guided = [moments if rng.random() < config.guided_share else () for moments in group]
        shown = asyncio.run(_guide_all(guided, material))
        for moments, guidance in zip(group, shown, strict=True):
            example = encode(builder.build(moments, guidance), material.tokenize)
            if spent < config.tokens:
                encoded.append(example)
                spent += len(example)
    return encoded


def _episodes(
    material: Material, config: CurriculumConfig, rng: np.random.Generator
) -> Iterator[tuple[Moment, ...]]:
    """Yield episodes that the expert wins, pass after pass over the tasks."""
    wanted = [task for task in material.tasks if task.task_type in config.task_types]
    won = bool(wanted)
    for start in count(step=max(1, len(wanted))):
        if not won:
            raise InvalidInputError(
                f"the expert wins none of the {len(wanted)} tasks of the types "
                f"{', '.join(config.task_types)}: choose other types, or more games"
            )
        won = False
        for number, place in enumerate(rng.permutation(len(wanted)), start):
            noise = config.noise if rng.random() < config.noisy_share else 0.0
            seed = integer_seed(config.seed, "expert", number) >> 1
            game = Household(material.store.load(wanted[place]))
            if moments := demonstrate(game, seed=seed, noise=noise):
                won = True
                yield moments


async def _guide_all(
    group: Sequence[Sequence[Moment]], material: Material
) -> list[list[Guidance | None]]:
    source = material.memory.retriever(material.retrieval)
    guided = (guide(moments, source, material.grammar) for moments in group)
    return list(await asyncio.gather(*guided))


class _Builder(NamedTuple):
    chunks: list[Chunk]
    text: TranscriptFormat
    config: CurriculumConfig
    rng: np.random.Generator

    def build(self, moments: Sequence[Moment], guidance: Sequence[Guidance | None]) -> Example:
        found = {i: held.chunk for i, held in enumerate(guidance) if held}
        task_type = moments[0].view.task.task_type
        if found and task_type in TREATMENTS and self.rng.random() < self.config.disguised_share:
            fitting = {i: c for i, c in found.items() if c.task_type == task_type}
            if fitting:
                return self._disguised(moments, fitting, task_type)
        return build_example(moments, self._some(found), self.text)

    def _some(self, found: dict[int, Chunk]) -> dict[int, Chunk]:
        """Return the guidance of some steps, part of it from anywhere."""
        steps = self.rng.permutation(sorted(found))[: self.config.guided_steps]
        return {int(i): self._perhaps_misled(found[int(i)]) for i in steps}

    def _perhaps_misled(self, chunk: Chunk) -> Chunk:
        if self.rng.random() >= self.config.misleading_share:
            return chunk
        return self.chunks[int(self.rng.integers(len(self.chunks)))]

    def _disguised(
        self, moments: Sequence[Moment], fitting: dict[int, Chunk], task_type: str
    ) -> Example:
        """Show guidance first of all where the treatment is due: there it is needed."""
        verb, _, appliance = TREATMENTS[task_type]
        due = [i for i in fitting if moments[i].advice.startswith((f"go to {appliance}", verb))]
        others = [int(i) for i in self.rng.permutation([i for i in fitting if i not in due])]
        steps = [*due[:3], *others][: self.config.guided_steps + 1]
        example = build_example(moments, {i: fitting[i] for i in steps}, self.text)
        return disguise(example, task_type, draw_disguise(self.rng))
