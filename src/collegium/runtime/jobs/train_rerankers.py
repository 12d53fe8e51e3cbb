"""Trains rankers from utility labels, measures them on held-out questions, and explains them.

The labels' run is the memory's run too: from there come the index that the TF-IDF weights are
fitted on, the agents, and the embedder. Each ranker has a folder under `models/` with its card. One
that is finished is not trained again; one that learned nothing has no folder, and its reason stands
in the table `rankers`. The run fails if none learned anything.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal, NamedTuple

from collegium.config import digest, load_texts
from collegium.core import Record
from collegium.evaluation.rankers import importance_figure
from collegium.experience import read_labels
from collegium.ranking.card import (
    CARD,
    Advantage,
    RankerCard,
    RankingMetrics,
    load_model,
    read_card,
    save_model,
)
from collegium.ranking.configs import AnyRankerConfig
from collegium.ranking.dataset import RankingData
from collegium.ranking.groups import GroupCounts, Target, TrainingSet
from collegium.ranking.importance import Importance, Measured, importances
from collegium.ranking.training import Split, UselessRankerError, split_by_question, train_ranker
from collegium.ranking.transfer import transfer_table
from collegium.runtime.jobs.configs import LabelUtilityConfig
from collegium.runtime.jobs.games import local_folder
from collegium.runtime.jobs.hosting import running_ray
from collegium.runtime.jobs.memory import built_memory
from collegium.runtime.jobs.progress import ConsoleProgress
from collegium.runtime.jobs.ranker_search import find_settings
from collegium.runtime.jobs.reranker_configs import RankerPlan, TrainRerankersConfig
from collegium.store import RunDirectory

RANKERS = "rankers"
"""Table with one `RankerRow` a ranker."""
IMPORTANCES = "importances"
"""Table with one `Importance` a ranker and feature; drawn in `figures/`."""
TRANSFER = "transfer"
"""Table with one `TransferRow` a ranker and task type."""
MODELS = "models"
"""Folder of the rankers."""


class RankerRow(Record):
    """What became of one ranker."""

    schema_version: Literal[1] = 1
    key: str
    """Its name."""
    kind: str
    target: Target
    null_candidate: bool
    refused: str
    """Why it is of no use; empty for a ranker that was saved."""
    useless: str = ""
    """Why it is of no use, though it was saved as the configuration wants."""
    groups: GroupCounts
    metrics: RankingMetrics | None
    """On held-out questions; None when it was refused."""
    cross_validated: RankingMetrics | None
    """On all questions, each held out once."""
    advantage: Advantage | None = None
    """Over chance and over the first stage's order."""


class TrainedRankers(Record):
    """The result of the job."""

    rankers: tuple[RankerRow, ...]


class _Work(NamedTuple):
    config: TrainRerankersConfig
    run: RunDirectory
    data: RankingData
    progress: ConsoleProgress

    def folder(self, plan: RankerPlan) -> Path:
        return local_folder(self.run, MODELS) / plan.label


class _Material(NamedTuple):
    """What one ranker is trained and measured on."""

    whole: TrainingSet
    counts: GroupCounts
    split: Split

    @property
    def train(self) -> TrainingSet:
        return self.whole.subset(self.split.train)

    @property
    def validation(self) -> TrainingSet:
        return self.whole.subset(self.split.validation)


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
    with running_ray(config.execution) if _searches(work) else nullcontext():
        for plan in config.models:
            await asyncio.to_thread(_settle, work, plan)
    rows = tuple(RankerRow.model_validate(row) for row in run.rows(RANKERS))
    run.finish()
    if all(row.refused for row in rows):
        raise UselessRankerError("; ".join(row.refused for row in rows))
    return TrainedRankers(rankers=rows)


def _searches(work: _Work) -> bool:
    done = work.run.keys(RANKERS)
    return work.config.search is not None and any(p.label not in done for p in work.config.models)


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


def _settle(work: _Work, plan: RankerPlan) -> None:
    """Train one ranker and tell what it goes by, as far as that is not done."""
    analyses = work.config.analyses
    material = _material(work, plan)
    _once(work, RANKERS, plan, "training", lambda: [_train(work, plan, material)])
    if not (work.folder(plan) / CARD).is_file():
        return
    if analyses.importances:
        _once(work, IMPORTANCES, plan, "importances", lambda: _explain(work, plan, material))
    if folds := analyses.transfer_folds:
        card = read_card(work.folder(plan))
        _once(
            work,
            TRANSFER,
            plan,
            "other task types",
            lambda: transfer_table(
                plan.label, _settings(plan, card), material.whole, folds, work.config.seed
            ),
        )


def _material(work: _Work, plan: RankerPlan) -> _Material:
    whole, counts = work.data.training_set(plan.target, null=plan.null_candidate)
    split = split_by_question(whole, work.config.validation, work.config.seed)
    return _Material(whole, counts, split)


def _once(
    work: _Work, table: str, plan: RankerPlan, stage: str, make: Callable[[], Sequence[Record]]
) -> None:
    """Store the rows that `make` gives, if the ranker has none in the table."""
    stored = {key.partition("/")[0] for key in work.run.keys(table)}
    if plan.label not in stored:
        work.progress.stage(f"{plan.label}: {stage}")
        work.run.append(table, [row.model_dump(mode="json") for row in make()])


def _train(work: _Work, plan: RankerPlan, material: _Material) -> RankerRow:
    try:
        card, refused = _fit(work, plan, material), ""
    except UselessRankerError as error:
        card, refused = None, str(error)
    return RankerRow(
        key=plan.label,
        kind=plan.ranker.kind,
        target=plan.target,
        null_candidate=plan.null_candidate,
        refused=refused,
        useless=card.useless if card else "",
        groups=material.counts,
        metrics=card and card.metrics,
        cross_validated=card and card.cross_validated,
        advantage=card and card.advantage,
    )


def _fit(work: _Work, plan: RankerPlan, material: _Material) -> RankerCard:
    if (work.folder(plan) / CARD).is_file():
        return read_card(work.folder(plan))
    config = work.config
    settings = find_settings(config, plan, material.train, work.run)
    trained = train_ranker(
        settings,
        material.whole,
        material.split,
        config.seed,
        keep_useless=config.keep_useless,
    )
    about: dict[str, Any] = {
        "features": work.data.schema,
        "hyperparameters": settings.model_dump(mode="json", exclude={"kind"}),
        "seed": config.seed,
        "target": plan.target,
        "grades": material.whole.scale.mapping,
        "null_candidate": plan.null_candidate,
        "labels": work.data.digest,
        "run": digest(config),
        "groups": len(material.split.train),
        "metrics": trained.metrics,
        "cross_validated": trained.cross_validated,
        "advantage": trained.advantage,
        "useless": trained.useless,
    }
    return save_model(work.folder(plan), trained.ranker, work.data.resources, about)


def _settings(plan: RankerPlan, card: RankerCard) -> AnyRankerConfig:
    """Return the settings that the ranker was trained with, which a search may have found."""
    return type(plan.ranker).model_validate(card.hyperparameters)


def _explain(work: _Work, plan: RankerPlan, material: _Material) -> list[Importance]:
    ranker = load_model(work.folder(plan)).ranker
    measured = Measured(plan.label, ranker, material.train, material.validation)
    rows = importances(measured, work.config.seed)
    figure = importance_figure(rows)
    work.run.write_text(f"figures/{figure.name}.svg", str(figure.svg))
    return rows
