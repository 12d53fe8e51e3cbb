"""What each producer's guidance was worth, with an interval: from labels, or from outcomes.

Evidence is summed by producer and question, as the bootstrap draws whole questions. From labels it
is utilities, each future against its control, and a producer's credit is their mean. From outcomes,
which have no control, it is scores weighed by the inverse of their propensity, and the credit is
the producer's mean less that of all outcomes, silent ones included.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from collegium.core import Record, generator
from collegium.experience.labels import UtilityLabel
from collegium.statistics import ClusterBootstrap, Interval
from collegium.statistics.bootstrap import Floats

RESAMPLES = 2000
CREDITS: Final = "credits"
"""Table of a run directory with one `CreditRow` a producer."""


class Evidence(NamedTuple):
    """What guidance of one producer led to in one question."""

    producer: str | None
    """None: nothing was shown."""
    question: str
    """Id of the task."""
    weight: float
    """Sum of the weights: 1 a label, 1 / propensity an outcome."""
    value: float
    """Weighted sum of utilities, or of scores."""


class Credit(NamedTuple):
    """A producer's credit."""

    producer: str
    questions: int
    """Questions that there is evidence from."""
    credit: Interval
    """95 % interval; ends that nothing bounds are infinite or `nan`."""


class CreditRow(Record):
    """What a producer's guidance was worth by the labels of a run."""

    schema_version: Literal[1] = 1
    key: str
    """The producer."""
    labels: int
    """Labels with a control, of its chunks."""
    questions: int
    """Questions that they are from."""
    credit: float
    """Mean utility, in [-1, 1]."""
    low: float | None
    """End of the 95 % interval over questions; None where these are too few to bound it."""
    high: float | None


def credit_by_labels(labels: Iterable[UtilityLabel]) -> list[CreditRow]:
    """Return each producer's credit, sorted by name; labels without a control tell none."""
    paired = [label for label in labels if label.utility is not None]
    counts = Counter(label.producer for label in paired)
    return [
        CreditRow(
            key=one.producer,
            labels=counts[one.producer],
            questions=one.questions,
            credit=one.credit.estimate,
            low=_bound(one.credit.low),
            high=_bound(one.credit.high),
        )
        for one in producer_credit(_evidence(paired), centred=False)
    ]


def _evidence(labels: Iterable[UtilityLabel]) -> list[Evidence]:
    utilities: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for label in labels:
        utilities[label.producer, label.question].append(label.utility or 0.0)
    return [
        Evidence(producer, question, weight=len(values), value=sum(values))
        for (producer, question), values in sorted(utilities.items())
    ]


def _bound(end: float) -> float | None:
    return end if math.isfinite(end) else None


def producer_credit(
    evidence: Sequence[Evidence], *, centred: bool, seed: int = 0, resamples: int = RESAMPLES
) -> list[Credit]:
    """Return the credit of each producer, sorted by name.

    Args:
        evidence: At most one row a producer and question.
        centred: Less the mean over all evidence; for scores, not for utilities.
        seed: Of the resamples.
        resamples: How many are drawn.
    """
    questions = [row.question for row in evidence]
    draws = ClusterBootstrap.draw(questions, generator(seed, "credit"), resamples=resamples)
    weights = np.array([row.weight for row in evidence])
    values = np.array([row.value for row in evidence])
    found = []
    for producer in sorted({row.producer for row in evidence if row.producer is not None}):
        mine = np.array([row.producer == producer for row in evidence])
        columns = (mine * values, mine * weights, values, weights)
        interval = draws.interval(_difference if centred else _mean, *columns)
        found.append(Credit(producer, int(mine.sum()), interval))
    return found


def _mean(value: Floats, weight: Floats, _: Floats, __: Floats) -> Floats:
    mean: Floats = np.divide(value, weight)
    return mean


def _difference(value: Floats, weight: Floats, all_value: Floats, all_weight: Floats) -> Floats:
    difference: Floats = np.divide(value, weight) - np.divide(all_value, all_weight)
    return difference
