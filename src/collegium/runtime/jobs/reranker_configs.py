"""Configuration of `train_rerankers`, and what it will take; imports neither torch nor Ray."""

from typing import Literal

from pydantic import Field, field_validator

from collegium.config import Config
from collegium.core import Record
from collegium.ranking.configs import (
    FFNConfig,
    LambdaMARTConfig,
    RankerConfig,
    SVMRankConfig,
)
from collegium.ranking.groups import Target
from collegium.ranking.training import FOLDS
from collegium.runtime.jobs.configs import ExecutionConfig, JobConfig

_FIT_S = 6.0


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


class SearchConfig(Config):
    """Search over the settings of each ranker, on Ray."""

    trials: int = Field(default=20, ge=2)
    """Settings that are tried, the configured ones first."""
    folds: int = Field(default=4, ge=2)
    """Folds of the training questions that each is judged on."""


class AnalysesConfig(Config):
    """What is told of the rankers beside their cards."""

    importances: bool = True
    """Gain, permutation and SHAP importance of the features, as a table and figures."""
    transfer_folds: int = Field(default=5, ge=0)
    """Folds of questions beside which training on other task types is shown; 0 leaves it out."""


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
    keep_useless: bool = False
    """Keep a ranker that learned nothing, with the reason in its card, instead of refusing it: for
    demos, whose labels are few. The gate will not pass it."""
    search: SearchConfig | None = None
    """Look for better settings on the training questions first; as configured when null."""
    analyses: AnalysesConfig = AnalysesConfig()
    """What is told of the rankers beside."""
    seed: int = 0
    """Seed of the split, the training and the search."""
    execution: ExecutionConfig = Field(default=ExecutionConfig(), exclude=True)
    """Where Ray is, for the search; left out of the run's digest."""

    @field_validator("models")
    @classmethod
    def _names_differ(cls, models: tuple[RankerPlan, ...]) -> tuple[RankerPlan, ...]:
        names = [plan.label for plan in models]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"rankers of one name would overwrite each other: {twice}")
        return models


class RankersEstimate(Record):
    """Expected size of the training."""

    rankers: int
    fits: int
    minutes: float
    assumptions: tuple[str, ...]


def estimate_rankers(config: TrainRerankersConfig) -> RankersEstimate:
    """Return what the training will take."""
    a_ranker = 1 + FOLDS + (config.search.trials * config.search.folds if config.search else 0)
    if folds := config.analyses.transfer_folds:
        a_ranker += folds + 6
    fits = len(config.models) * a_ranker
    return RankersEstimate(
        rankers=len(config.models),
        fits=fits,
        minutes=round(fits * _FIT_S / 60, 1),
        assumptions=(f"{_FIT_S:g} s a fit, as with 3,550 labels on one core", "six task types"),
    )
