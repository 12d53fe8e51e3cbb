"""Labelled groups: the candidates of one query with what each of them led to.

A group is what rankers compare within: one consumer, one state, candidates in the order of the
first stage. Groups that hold fewer than two candidates teach nothing about order and are left out;
that, and how many groups have all labels equal, is counted and told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collegium.core import Guidance, InvalidInputError, Query, Record
from collegium.experience.labels import UtilityLabel
from collegium.ranking.features import FeatureExtractor
from collegium.ranking.grades import GradeScale
from collegium.ranking.protocol import Matrix, Vector
from collegium.ranking.schema import FeatureSchema

Target = Literal["paper", "paired"]


class LabelledGroup(NamedTuple):
    """The candidates of one branching point."""

    group: str
    question: str
    task_type: str
    query: Query
    guidance: tuple[Guidance, ...]
    """By rank."""
    labels: tuple[float, ...]
    scores: tuple[float, ...]
    """Mean score of each future."""
    repeats: tuple[int, ...]

    @property
    def differs(self) -> bool:
        """Whether some candidate was better than another."""
        return len(set(self.labels)) > 1


class GroupCounts(Record):
    """What the labels consist of."""

    labels: int
    """All there are."""
    without_control: int
    """Labels left out because a control is wanted and the machinery ended it."""
    groups: int
    """With at least two candidates, showing nothing included where that is one."""
    left_out: int
    """With fewer."""
    all_equal: int
    """Groups that tell nothing about order."""
    questions: int
    helped: int
    """Labels above 0."""
    hurt: int
    """Labels below 0."""


@dataclass(frozen=True)
class TrainingSet:
    """Rows of features with labels, group after group."""

    features: Matrix
    labels: Vector
    weights: Vector
    """How much each label is to be trusted, 1 on average."""
    sizes: NDArray[np.int64]
    """Rows of each group."""
    groups: tuple[LabelledGroup, ...]
    schema: FeatureSchema
    clones: Mapping[str, str]
    """Consumer -> its clone group."""
    scale: GradeScale
    null: bool
    """Whether the last row of each group is that of showing nothing, whose label is 0."""

    @cached_property
    def rows(self) -> list[slice]:
        """The rows of each group."""
        ends = np.cumsum(self.sizes).tolist()
        return [slice(end - size, end) for end, size in zip(ends, self.sizes.tolist(), strict=True)]

    @cached_property
    def grades(self) -> NDArray[np.int64]:
        """Of each row."""
        return self.scale.grades(self.labels)

    def tells_order(self, place: int) -> bool:
        """Return whether the labels of the group at `place` differ."""
        return bool(np.ptp(self.labels[self.rows[place]]) > 0)

    def subset(self, chosen: Sequence[int]) -> "TrainingSet":
        """Return the chosen groups."""
        rows = np.concatenate([np.arange(self.rows[i].start, self.rows[i].stop) for i in chosen])
        return TrainingSet(
            features=self.features[rows],
            labels=self.labels[rows],
            weights=self.weights[rows],
            sizes=self.sizes[list(chosen)],
            groups=tuple(self.groups[i] for i in chosen),
            schema=self.schema,
            clones=self.clones,
            scale=self.scale,
            null=self.null,
        )


def collect_groups(
    labels: Iterable[UtilityLabel], target: Target, *, null: bool
) -> tuple[list[LabelledGroup], GroupCounts]:
    """Return the groups that teach something about order, by id, and what there was.

    Args:
        labels: In any order.
        target: `paper` takes s_j - s_base, `paired` s_j - s_control.
        null: Whether showing nothing will be a candidate.

    Raises:
        InvalidInputError: There are no labels, no group with two candidates, no group whose labels
            differ, or no label against a control though the target needs one.
    """
    given = sorted(labels, key=lambda label: (label.group, label.rank))
    known = [label for label in given if target == "paper" or label.utility is not None]
    every = [_group(list(rows), target) for _, rows in groupby(known, lambda row: row.group)]
    groups = [group for group in every if len(group.labels) + null > 1]
    values = [label for group in groups for label in group.labels]
    different = [g for g in groups if g.differs or (null and set(g.labels) != {0.0})]
    counts = GroupCounts(
        labels=len(given),
        without_control=len(given) - len(known),
        groups=len(groups),
        left_out=len(every) - len(groups),
        all_equal=len(groups) - len(different),
        questions=len({group.question for group in groups}),
        helped=sum(value > 0 for value in values),
        hurt=sum(value < 0 for value in values),
    )
    _check(counts)
    return groups, counts


def training_set(
    groups: Sequence[LabelledGroup],
    extractor: FeatureExtractor,
    clones: Mapping[str, str],
    *,
    null: bool,
) -> TrainingSet:
    """Compute the features of all groups.

    Raises:
        InvalidInputError: A feature is not a number, a producer or consumer is not one of the
            schema's, or a label cannot be mapped to a grade.
    """
    _check_known(groups, extractor)
    matrices = extractor.matrices(groups, null=null)
    features = np.concatenate(matrices)
    _check_finite(features, matrices, groups, extractor.schema.columns)
    repeats = max(count for group in groups for count in group.repeats)
    labels = [value for group in groups for value in (*group.labels, *[0.0] * null)]
    data = TrainingSet(
        features=features,
        labels=np.array(labels),
        weights=_weights(groups, null),
        sizes=np.array([len(matrix) for matrix in matrices], np.int64),
        groups=tuple(groups),
        schema=extractor.schema,
        clones=clones,
        scale=GradeScale.for_repeats(repeats),
        null=null,
    )
    data.scale.grades(data.labels)
    return data


def _group(rows: Sequence[UtilityLabel], target: Target) -> LabelledGroup:
    first = rows[0]
    return LabelledGroup(
        group=first.group,
        question=first.question,
        task_type=first.task_type,
        query=first.as_query(),
        guidance=tuple(
            Guidance(chunk=row.as_chunk(), rank=row.rank, retrieval_score=row.retrieval_score)
            for row in rows
        ),
        labels=tuple((row.label if target == "paper" else row.utility) or 0.0 for row in rows),
        scores=tuple(row.score_future for row in rows),
        repeats=tuple(row.repeats for row in rows),
    )


def _check(counts: GroupCounts) -> None:
    if not counts.labels:
        raise InvalidInputError("there are no labels: run pipelines/label_utility.py first")
    if counts.without_control == counts.labels:
        raise InvalidInputError(
            "no label has a control to be compared with: label with `branching.control: true`, or "
            "train on `target: paper`"
        )
    if not counts.groups:
        raise InvalidInputError(
            f"none of {counts.left_out} groups has two candidates to compare: label more ranks, or "
            "let the memory grow before labelling"
        )
    if counts.all_equal == counts.groups:
        raise InvalidInputError(
            f"in all {counts.groups} groups every candidate has the same label, so there is no "
            "order to learn: label more questions"
        )


def _check_known(groups: Sequence[LabelledGroup], extractor: FeatureExtractor) -> None:
    producers = {g.chunk.producer for group in groups for g in group.guidance}
    consumers = {group.query.consumer for group in groups}
    for what, found, known in (
        ("producers", producers, extractor.schema.producers),
        ("consumers", consumers, extractor.schema.consumers),
    ):
        if unknown := sorted(found - set(known)):
            raise InvalidInputError(
                f"labels name {what} that the feature schema does not know: {', '.join(unknown)}; "
                "labels and memory must come from one run"
            )
    for group in groups:
        extractor.check(group.query)


def _check_finite(
    features: Matrix,
    matrices: Sequence[Matrix],
    groups: Sequence[LabelledGroup],
    columns: Sequence[str],
) -> None:
    if np.isfinite(features).all():
        return
    for matrix, group in zip(matrices, groups, strict=True):
        for row, column in np.argwhere(~np.isfinite(matrix)):
            raise InvalidInputError(
                f"feature {columns[column]!r} of candidate {row + 1} in group {group.group} is "
                f"{matrix[row, column]}: see its retrieval score and the embedder's vectors"
            )


def _weights(groups: Sequence[LabelledGroup], null: bool) -> Vector:
    """Return the precision of each mean score, 1 on average; equal repeats weigh alike.

    The variance of a mean over n repeats is p (1 - p) / n, with p smoothed by one success and one
    failure. Showing nothing has the mean weight.
    """
    precision = []
    for group in groups:
        for score, n in zip(group.scores, group.repeats, strict=True):
            p = (score * n + 1.0) / (n + 2.0)
            precision.append(n / (p * (1.0 - p)))
    mean = float(np.mean(precision))
    shares = iter(np.array(precision) / mean)
    rows = [[next(shares) for _ in group.labels] + [1.0] * null for group in groups]
    return np.array([weight for row in rows for weight in row])
