"""Configurations of the jobs that play: who plays which games, how, and what it may cost.

Whatever can change a result is part of a run's digest. `execution` is not: a run may be resumed
with a larger budget, or on another number of cores, and goes on where it stopped. Importing this
module imports neither torch nor Ray.
"""

import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from collegium.agents.allocation import AGENT_ORDER_SEED
from collegium.agents.loop import LoopConfig
from collegium.agents.planner import PlannerKind
from collegium.agents.populations import load_population
from collegium.config import Config
from collegium.core import Agent, ConfigError
from collegium.embedding import EmbedderConfig, MiniLMConfig
from collegium.environments.household import Grammar
from collegium.evaluation.arms import (
    EXPERT,
    MODES,
    NO_RETRIEVAL,
    RETRIEVAL,
    UNGUIDED,
    Arm,
)
from collegium.experience import BranchingConfig, MemoryConfig, RetrievalConfig
from collegium.llm import BudgetConfig, EngineConfig, VllmConfig
from collegium.runtime.watch import WatchConfig


class JobConfig(Config):
    """Base of the configurations of all jobs."""

    def resolved(self) -> Self:
        """Return the configuration with what it names elsewhere read in."""
        return self

    def undigested(self) -> dict[str, Any]:
        """Return the fields that are no part of the run's identity, as plain data."""
        fields = type(self).model_fields
        names = [name for name, field in fields.items() if field.exclude]
        return {name: getattr(self, name).model_dump(mode="json") for name in names}


class GeneratedGames(Config):
    """Games made for the run, so that nothing needs to be downloaded; never a measured result."""

    count: int = Field(gt=0)
    """Games a split."""
    seed: int = 0
    """Seed of the generator."""


class GamesConfig(Config):
    """Which household games are played."""

    root: str | None = None
    """Folder in the layout of ALFWORLD_DATA; that environment variable when null."""
    generated: GeneratedGames | None = None
    """Write games into the run directory and play these, instead of those under `root`."""
    splits: tuple[str, ...] = Field(min_length=1)
    """Their splits; `generated_train` and `generated_test` for generated games."""
    limit: int | None = Field(default=None, gt=0)
    """At most this many tasks, spread over the task types; all when null."""
    seed: int = 0
    """Seed of the choice under `limit`."""

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if self.root is not None and self.generated is not None:
            raise ValueError("`root` and `generated` name two origins of games: choose one")
        return self


class ExecutionConfig(WatchConfig):
    """How a run is carried out; changes nothing about what it finds, so it may change on resume."""

    concurrency: int = Field(default=32, gt=0)
    """Episodes in flight, over all engines."""
    engines_side_by_side: int | None = Field(default=None, gt=0)
    """Engine processes alive at once, each with its share of this machine's cores. When null: two
    on CPUs, as far as cores and memory allow (on two cores, two agents were played in 76 s that way
    and in 107 s one after the other); one on GPUs, where it serves all adapters."""
    attempts: int = Field(default=2, gt=0)
    """Times an episode is tried when the machinery, not the agent, ends it."""
    budget: BudgetConfig = BudgetConfig()
    """Limits of the run over all attempts."""
    ray_address: str | None = None
    """Address of a running Ray cluster, or `auto`; null starts one on this machine, unless the
    driver itself was started by `ray job submit`."""


class PlayingConfig(JobConfig):
    """Who plays, by which engine and rules: what the jobs below have in common."""

    population: str | None = None
    """Population file; its agents take its place when the configuration is resolved."""
    agents: tuple[Agent, ...] = ()
    """The agents, when there is no population file."""
    agent_order_seed: int = AGENT_ORDER_SEED
    """Seed of the agents' order in the allocation."""
    engine: EngineConfig = VllmConfig()
    """How models are served; each agent's own model and adapter take the places named there."""
    format: Literal["transcript", "json", "choice"] = "transcript"
    """Compact transcript, the paper's prompts with JSON answers, or those with a choice."""
    grammar: Grammar = Grammar.CURRENT
    """Command grammar of the games."""
    loop: LoopConfig = LoopConfig()
    """Limits of an episode."""
    seed: int = 0
    """Seed of everything random in the run that has no seed of its own."""
    execution: ExecutionConfig = Field(default=ExecutionConfig(), exclude=True)
    """Left out of the run's digest."""

    @model_validator(mode="after")
    def _someone_plays(self) -> Self:
        if (self.population is None) == (not self.agents):
            raise ValueError("exactly one of `population` and `agents` says who plays")
        return self

    def resolved(self) -> Self:
        """Return the configuration with its population file read.

        Raises:
            NotFoundError: The file, or the adapter of an agent, is not there.
            ConfigError: The file is not a population.
        """
        if self.population is None:
            return self
        agents = load_population(self.population)
        return self.model_copy(update={"population": None, "agents": agents})


_RECORDINGS = "alfworld/trajectories.jsonl.gz"


class ExplorerSource(Config):
    """Pre-population by the text-only expert's episodes."""

    kind: Literal["explorer"] = "explorer"
    tasks: int = Field(gt=0)
    """At most this many of the games, spread over the task types."""
    seed: int = 0
    """Seed of the choice, and of the noise."""
    noise: float = Field(default=0.0, ge=0.0, le=1.0)
    """Probability that a step is a random one."""


class RecordingsSource(Config):
    """Pre-population by recorded episodes of real agents, as far as they win again here."""

    kind: Literal["recordings"] = "recordings"
    path: str | None = None
    """Recordings, `.jsonl.gz`; when null, `alfworld/trajectories.jsonl.gz` under the folder that
    the environment variable COLLEGIUM_SHARED_DATA names, and where that is not there, none."""
    split: str = "train"
    """Only recordings of games of this split enter."""

    @property
    def file(self) -> Path | None:
        """Where the recordings are; None when they are those of the shared data and not there."""
        if self.path is not None:
            return Path(self.path).expanduser()
        shared = os.environ.get("COLLEGIUM_SHARED_DATA")
        file = Path(shared).expanduser() / _RECORDINGS if shared else None
        return file if file and file.is_file() else None


PrePopulation = Annotated[ExplorerSource | RecordingsSource, Field(discriminator="kind")]


def _named(source: PrePopulation) -> PrePopulation | None:
    """Return the source with its file named; None when that is not there."""
    if not isinstance(source, RecordingsSource):
        return source
    return source.model_copy(update={"path": str(source.file)}) if source.file else None


class MemorySetup(Config):
    """What a memory was made with, and must be opened with."""

    grammar: Grammar
    """The one grammar of its trajectories."""
    embedder: EmbedderConfig
    """Embeds keys and queries."""
    memory: MemoryConfig
    """Window, theta and index."""


class ConstructionConfig(PlayingConfig):
    """How a shared memory is built, whatever else is played meanwhile."""

    games: GamesConfig = GamesConfig(splits=("train",))
    """Train games."""
    tasks: int | None = Field(default=None, ge=0)
    """Games that the partitions share, spread over the task types; all when null."""
    partitions: int = Field(default=3, ge=0)
    """P; with 0 the memory is D_0 alone."""
    pre_population: tuple[PrePopulation, ...] = ()
    """What D_0 is made of."""
    embedder: EmbedderConfig = MiniLMConfig()
    """Embeds keys and queries."""
    memory: MemoryConfig = MemoryConfig()
    """Window, theta and index."""

    def resolved(self) -> Self:
        """Return the configuration with population and recordings named, or these left out."""
        named = [_named(source) for source in self.pre_population]
        sources = tuple(source for source in named if source is not None)
        return super().resolved().model_copy(update={"pre_population": sources})

    @property
    def setup(self) -> MemorySetup:
        """What the memory must be opened with later."""
        return MemorySetup(grammar=self.grammar, embedder=self.embedder, memory=self.memory)


class BuildMemoryConfig(ConstructionConfig):
    """Configuration of `build_memory`."""

    pipeline: Literal["build_memory"] = "build_memory"


class LabelUtilityConfig(ConstructionConfig):
    """Configuration of `label_utility`."""

    pipeline: Literal["label_utility"] = "label_utility"
    branching: BranchingConfig = BranchingConfig()
    """Where baselines are branched, and into what."""
    retrieval: RetrievalConfig = RetrievalConfig()
    """What the retrievals at branching points may return."""

    def resolved(self) -> Self:
        """Return the configuration with population and recordings named.

        Raises:
            ConfigError: Repeats are asked of an agent whose repeats would all be the same.
        """
        config = super().resolved()
        greedy = [agent.id for agent in config.agents if agent.sampling.temperature == 0]
        if self.branching.repeats > 1 and greedy:
            raise ConfigError(
                f"branching.repeats: {self.branching.repeats} repeats of {', '.join(greedy)} would "
                "all be the same, as sampling.temperature is 0: raise it, or repeat once"
            )
        return config


_DEFAULT_ARMS = tuple(Arm(name=name, mode=name) for name in (NO_RETRIEVAL, RETRIEVAL, EXPERT))


class EvaluateAgentsConfig(PlayingConfig):
    """Configuration of `evaluate_agents`."""

    pipeline: Literal["evaluate_agents"] = "evaluate_agents"
    games: GamesConfig = GamesConfig(splits=("valid_seen", "valid_unseen"))
    """Test games."""
    memory: str | None = None
    """Run directory of `build_memory` or `label_utility`; needed by every guided arm."""
    rankers: str | None = None
    """Run directory of `train_rerankers`; its models are modes by their names."""
    arms: tuple[Arm, ...] = Field(default=_DEFAULT_ARMS, min_length=1)
    """What is compared, the baseline first; `expert` is played once, beside."""
    offsets: tuple[int, ...] = Field(default=(0,), min_length=1)
    """Offsets of the allocation; each plays every game once in each arm."""
    planner: PlannerKind = PlannerKind.FOLLOW
    """Who decides when guidance is looked for."""
    retrieval: RetrievalConfig = RetrievalConfig()
    """What a retrieval may return."""
    candidates: int = Field(default=20, ge=1)
    """K: how many chunks a ranker orders."""

    @model_validator(mode="after")
    def _arms_have_what_they_need(self) -> Self:
        names = [arm.name for arm in self.arms]
        if len(set(names)) < len(names):
            raise ValueError(f"arms {names}: each needs a name of its own")
        guided = [arm.name for arm in self.arms if arm.mode not in UNGUIDED]
        if guided and self.memory is None:
            raise ValueError(
                f"the arms {', '.join(guided)} need `memory`, a run directory of build_memory"
            )
        models = [arm.mode for arm in self.arms if arm.is_model]
        if models and self.rankers is None:
            raise ValueError(
                f"the modes {', '.join(models)} are none of {', '.join(MODES)}; for them to be "
                "trained models, name a run directory of train_rerankers in `rankers`"
            )
        return self
