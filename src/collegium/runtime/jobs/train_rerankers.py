"""Trains rankers from utility labels, measures them on held-out questions, and explains them.

The labels' run is the memory's run too: from there come the index that the TF-IDF weights are
fitted on, the agents, and the embedder. Each ranker has a folder under `models/` with its card. One
that is finished is not trained again; one that learned nothing has no folder, and its reason stands
in the table `rankers`. The run fails if none learned anything.
"""

import asyncio
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, field_validator

from collegium.config import Config, digest, load_texts
from collegium.core import Record
from collegium.experience import read_labels
from collegium.ranking.card import CARD, RankerCard, RankingMetrics, read_card, save_model
from collegium.ranking.configs import FFNConfig, LambdaMARTConfig, SVMRankConfig
from collegium.ranking.dataset import RankingData
from collegium.ranking.groups import GroupCounts, Target, TrainingSet
from collegium.ranking.kinds import RankerConfig
from collegium.ranking.training import UselessRankerError, split_by_question, train_ranker
from collegium.runtime.jobs.configs import JobConfig, LabelUtilityConfig
from collegium.runtime.jobs.games import local_folder
from collegium.runtime.jobs.memory import built_memory
from collegium.runtime.jobs.progress import ConsoleProgress
from collegium.store import RunDirectory

RANKERS = "rankers"
"""Table with one `RankerRow` a ranker."""
MODELS = "models"
"""Folder of the rankers."""


class RankerPlan(Config):
    """One ranker to train."""

    ranker: RankerConfig
    """Kind and settings."""
    name: str = Field(default="", pattern=r"^[A-Za-z0-9_.-]*$")
    """Of its folder, and of the arm that evaluates it; from kind and null candidate when empty."""
    target: Target = "paper"
    """`paper`: difference to the whole baseline. `paired`: difference to the control."""
    null_candidate: bool = False
    """Let it learn when to show nothing."""

    @property
    def label(self) -> str:
        """Its name."""
        return self.name or f"{self.ranker.kind}{'_null' if self.null_candidate else ''}"


_PAPER = (
    RankerPlan(ranker=LambdaMARTConfig()),
    RankerPlan(ranker=SVMRankConfig()),
    RankerPlan(ranker=FFNConfig()),
)


class TrainRerankersConfig(JobConfig):
    """Configuration of `train_rerankers`."""

    pipeline: Literal["train_rerankers"] = "train_rerankers"
    labels: str
    """Run directory of `label_utility`."""
    models: tuple[RankerPlan, ...] = Field(default=_PAPER, min_length=1)
    """The rankers."""
    benchmarks: str | None = None
    """TSV table of benchmark scores for producers that are not agents of the labels' run: a model
    and twelve numbers a line, in the order of formulas §2.2."""
    validation: float = Field(default=0.2, gt=0, lt=1)
    """Share of the questions that is held out."""
    seed: int = 0
    """Seed of the split and of the training."""

    @field_validator("models")
    @classmethod
    def _names_differ(cls, models: tuple[RankerPlan, ...]) -> tuple[RankerPlan, ...]:
        names = [plan.label for plan in models]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"rankers of one name would overwrite each other: {twice}")
        return models


class RankerRow(Record):
    """What became of one ranker."""

    schema_version: Literal[1] = 1
    key: str
    """Its name."""
    kind: str
    refused: str
    """Why it is of no use; empty for a ranker that was saved."""
    groups: GroupCounts
    metrics: RankingMetrics | None
    """None when it was refused."""


class TrainedRankers(Record):
    """The result of the job."""

    rankers: tuple[RankerRow, ...]


class RankersEstimate(Record):
    """Expected size of the training."""

    rankers: int
    fits: int
    minutes: float
    assumptions: tuple[str, ...]


_FIT_S = 5.0


def estimate_rankers(config: TrainRerankersConfig) -> RankersEstimate:
    """Return what the training will take."""
    fits = len(config.models)
    return RankersEstimate(
        rankers=len(config.models),
        fits=fits,
        minutes=round(fits * _FIT_S / 60, 1),
        assumptions=(f"{_FIT_S:g} s a fit, as with 3,550 labels on one core",),
    )


class _Work(NamedTuple):
    config: TrainRerankersConfig
    run: RunDirectory
    data: RankingData
    progress: ConsoleProgress

    @property
    def folder(self) -> Path:
        return local_folder(self.run, MODELS)


async def train_rerankers(
    config: TrainRerankersConfig, run: RunDirectory, progress: ConsoleProgress
) -> TrainedRankers:
    """Train every ranker that is not finished yet.

    Raises:
        NotFoundError: There are no labels, or no memory beside them.
        InvalidInputError: The labels teach nothing; the message says why.
        UselessRankerError: No ranker learned anything.
    """
    progress.stage("features")
    work = _Work(config, run, await asyncio.to_thread(read_data, config), progress)
    await asyncio.to_thread(_train_all, work)
    rows = tuple(RankerRow.model_validate(row) for row in run.rows(RANKERS))
    run.finish()
    if all(row.refused for row in rows):
        raise UselessRankerError("; ".join(row.refused for row in rows))
    return TrainedRankers(rankers=rows)


def read_data(config: TrainRerankersConfig) -> RankingData:
    """Return the labels with what their features need."""
    labelled = RunDirectory(config.labels)
    made_with = load_texts(
        LabelUtilityConfig, {f"{labelled.path}/config.yaml": labelled.read_text("config.yaml")}
    )
    memory = built_memory(labelled)
    snapshot = memory.as_of(memory.sealed - 1)
    return RankingData(
        read_labels(labelled),
        snapshot.chunks(),
        made_with.agents,
        snapshot.embedder,
        Path(config.benchmarks).expanduser() if config.benchmarks else None,
    )


def _train_all(work: _Work) -> None:
    done = work.run.keys(RANKERS)
    for plan in work.config.models:
        if plan.label not in done:
            work.progress.stage(f"training {plan.label}")
            row = _train(work, plan)
            work.run.append(RANKERS, [row.model_dump(mode="json")])


def _train(work: _Work, plan: RankerPlan) -> RankerRow:
    data, counts = work.data.training_set(plan.target, null=plan.null_candidate)
    try:
        card = _fit(work, plan, data)
    except UselessRankerError as error:
        return _row(plan, counts, None, str(error))
    return _row(plan, counts, card.metrics, "")


def _row(
    plan: RankerPlan, counts: GroupCounts, metrics: RankingMetrics | None, refused: str
) -> RankerRow:
    return RankerRow(
        key=plan.label, kind=plan.ranker.kind, refused=refused, groups=counts, metrics=metrics
    )


def _fit(work: _Work, plan: RankerPlan, data: TrainingSet) -> RankerCard:
    config = work.config
    folder = work.folder / plan.label
    if (folder / CARD).is_file():
        return read_card(folder)
    split = split_by_question(data.groups, config.validation, config.seed)
    trained = train_ranker(
        plan.ranker, data.subset(split.train), data.subset(split.validation), config.seed
    )
    about = {
        "features": work.data.schema,
        "hyperparameters": plan.ranker.model_dump(mode="json", exclude={"kind"}),
        "seed": config.seed,
        "target": plan.target,
        "grades": data.scale.mapping,
        "null_candidate": plan.null_candidate,
        "labels": work.data.digest,
        "run": digest(config),
        "groups": len(split.train),
        "metrics": trained.metrics,
    }
    return save_model(folder, trained.ranker, work.data.resources, about)
