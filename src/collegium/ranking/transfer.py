"""How well rankers carry over to task types that they were never trained on.

Each group is scored by a ranker that was trained without its fold. With a fold a task type, that
is transfer to another type; with folds of questions, drawn by seed, it is what the same kind of
ranker reaches when it knows the type. Both are told by type, beside similarity and random order.
"""

from typing import Literal

import numpy as np

from collegium.core import Record
from collegium.ranking.configs import AnyRankerConfig
from collegium.ranking.folds import held_out_scores, question_folds
from collegium.ranking.groups import TrainingSet
from collegium.ranking.metrics import measure
from collegium.ranking.protocol import Vector


class TransferRow(Record):
    """One kind of ranker on one task type."""

    schema_version: Literal[1] = 1
    key: str
    ranker: str
    task_type: str
    groups: int
    groups_relevant: int
    """Groups that enter the NDCG."""
    ndcg_other_types: float | None
    """Trained on all other task types."""
    ndcg_own_type: float | None
    """Trained on other questions of all types."""
    ndcg_similarity: float | None
    ndcg_random: float | None
    top_other_types: float | None
    """Mean label of what stands first; the same three ways."""
    top_own_type: float | None
    top_similarity: float | None
    top_random: float | None


def transfer_table(
    name: str, config: AnyRankerConfig, data: TrainingSet, folds: int, seed: int
) -> list[TransferRow]:
    """Return one row a task type whose groups tell something about order, by name.

    Args:
        name: Of the ranker, in the rows.
        config: How it is trained.
        data: All groups.
        folds: Folds of questions, at least 2.
        seed: Of the folds and the training.
    """
    types = [group.task_type for group in data.groups]
    other = held_out_scores(config, data, types, seed)
    own = held_out_scores(config, data, question_folds(data, folds, seed), seed)
    return [
        _row(name, kind, data, other, own)
        for kind in sorted(set(types))
        if any(data.tells_order(i) for i, one in enumerate(types) if one == kind)
    ]


def _row(name: str, kind: str, data: TrainingSet, other: Vector, own: Vector) -> TransferRow:
    chosen = [i for i, group in enumerate(data.groups) if group.task_type == kind]
    part = data.subset(chosen)
    rows = np.concatenate([np.arange(len(data.labels))[data.rows[i]] for i in chosen])
    transferred, known = measure(part, other[rows]), measure(part, own[rows])
    return TransferRow(
        key=f"{name}/{kind}",
        ranker=name,
        task_type=kind,
        groups=transferred.groups,
        groups_relevant=transferred.groups_relevant,
        ndcg_other_types=transferred.ranker.ndcg,
        ndcg_own_type=known.ranker.ndcg,
        ndcg_similarity=known.similarity.ndcg,
        ndcg_random=known.random.ndcg,
        top_other_types=transferred.ranker.top_label,
        top_own_type=known.ranker.top_label,
        top_similarity=known.similarity.top_label,
        top_random=known.random.top_label,
    )
