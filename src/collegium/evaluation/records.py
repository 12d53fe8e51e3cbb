"""What an evaluation says, as frozen records: the JSON that every table and page is drawn from."""

import math
from typing import Literal

from pydantic import Field

from collegium.core import Record, StopReason, Usage
from collegium.evaluation.growth import GrowthRow, ProducerShare
from collegium.ranking.card import GateVerdict
from collegium.statistics import Interval

REFERENCES = "references"
"""Name of the optional table of a run directory that holds `Reference` rows."""

TOLERATED_LOSS = -0.02
"""The lower bound of the difference in success rate that the gate lets a ranker have."""


class Estimate(Record):
    """A number with its 95 % interval, in the form JSON can carry.

    `value` is None where the number is undefined; an end is None where it is unbounded or unknown.
    """

    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, interval: Interval) -> "Estimate":
        """Return the record of `interval`."""
        value, low, high = (x if math.isfinite(x) else None for x in interval)
        return cls(value=value, low=low, high=high)


class Preference(Record):
    """Mean pairwise RPP against the other compared arms; exact as votes / of."""

    votes: int
    of: int
    """Task-runs x opponents."""
    estimate: Estimate


class PairedChange(Record):
    """An arm against the baseline on the same task-runs."""

    success_rate: Estimate
    """Difference in success rate, in [-1, 1]."""
    wins: int
    """Task-runs that only this arm solved."""
    losses: int
    """Task-runs that only the baseline solved."""
    p_value: float
    """McNemar's exact test; takes task-runs as independent, so a check only."""
    tokens_per_solved: Estimate
    """Relative change in tokens per solved task-run; -0.2 is a fifth fewer."""


class ArmMetrics(Record):
    """One arm on one set of task-runs."""

    arm: str
    task_runs: int
    tasks: int
    solved: int
    success_rate: Estimate
    steps: Estimate
    """Mean over all episodes, as in the paper."""
    steps_solved: Estimate
    """Mean over solved episodes."""
    tokens_per_solved: Estimate
    """All tokens of these task-runs' episodes; lost attempts are chance, and not the arm's."""
    change: PairedChange | None = None
    """None for the baseline and for reference arms."""


class ArmSummary(ArmMetrics):
    """One row of the result table."""

    role: Literal["baseline", "compared", "reference"]
    agents: int
    rpp: Preference | None = None
    """None where there is nothing to prefer it to."""
    cost_per_solved: Estimate
    prefix_hit_rate: float | None
    """Cached prompt tokens / prompt tokens."""
    retrieval_rate: float
    """Steps at which guidance was asked for / steps."""
    effective_producers: float
    """Of the retrieved guidance; 0 without retrieval."""
    usage: Usage
    """Everything the arm spent: its episodes, machinery failures included, and `lost`."""
    lost: Usage
    """Spent on attempts that are no episode: the machinery ended them and they were made again, or
    the run was stopped meanwhile."""
    episodes: int
    machinery_failures: int
    """Episodes whose last attempt the machinery ended."""
    failed_attempts: int
    """Attempts that the machinery ended and that were made again."""
    stop_reasons: dict[StopReason, int]
    solved_by_step: tuple[int, ...]
    """solved_by_step[k] = task-runs solved within k steps; the last entry is `solved`."""


class GroupSummary(Record):
    """The compared arms on the task-runs of one consumer or one task type."""

    group: str
    arms: tuple[ArmMetrics, ...]


class Judged(Record):
    """A model with what the gate says of it."""

    name: str
    """The model's; its arm may be named otherwise."""
    arm: str
    model_id: str
    folder: str
    """Where the model was taken from."""
    verdict: GateVerdict


class Reference(Record):
    """A row measured elsewhere, such as a paper's or an expert's, labelled with its source."""

    label: str
    source: str
    success_rate: float = Field(ge=0, le=1)
    task_runs: int | None = None
    steps: float | None = None
    rpp: float | None = None
    note: str = ""


class Summary(Record):
    """Everything an evaluation found."""

    schema_version: Literal[1] = 1
    arms: tuple[ArmSummary, ...]
    """Baseline first, then compared arms, then reference arms."""
    references: tuple[Reference, ...] = ()
    by_task_type: tuple[GroupSummary, ...] = ()
    by_consumer: tuple[GroupSummary, ...] = ()
    growth: tuple[GrowthRow, ...] = ()
    producers: tuple[ProducerShare, ...] = ()
    gate: tuple[Judged, ...] = ()
    """What these episodes say of the trained rankers that they were played with."""
    not_played: dict[str, str] = Field(default_factory=dict)
    """Arms of models that training refused, with the reason."""
    incomplete_task_runs: int
    """Task-runs left out because an arm has no agent outcome for them."""
    sources: dict[str, int]
    """Episodes on official and on generated games."""
    environments: tuple[str, ...]
    level: float
    resamples: int
    seed: int

    @property
    def baseline(self) -> ArmSummary:
        """The arm the others are compared with."""
        return self.arms[0]

    @property
    def compared(self) -> tuple[ArmSummary, ...]:
        """All arms that were compared by pairs, baseline included."""
        return tuple(arm for arm in self.arms if arm.role != "reference")
