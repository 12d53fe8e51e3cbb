"""The features of a query with its candidates, one block of columns a function (formulas §2.2)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collegium.core import Chunk, Query
from collegium.ranking.protocol import Matrix, Vector
from collegium.ranking.schema import PARTS
from collegium.ranking.texts import BIGRAMS, TERMS, TOKENS, Bags, overlaps

_ENCODE = json.JSONEncoder(ensure_ascii=False).encode


class Vectors(NamedTuple):
    """Embedded texts."""

    place: Mapping[str, int]
    """Row of each text."""
    rows: NDArray[np.float64]

    def of(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of `texts`, one a row."""
        return self.rows[[self.place[text] for text in texts]]


def trajectory_features(chunk: Chunk) -> tuple[float, float, float, float]:
    """Return retrieved_text_length, trajectory_length, total_steps and success_flag."""
    shown = [{"action": step.action, "observation": step.observation} for step in chunk.steps]
    words = len(_ENCODE(shown).split())
    return words, len(chunk.steps), chunk.total_steps, chunk.success


def match_features(query: Query, chunk: Chunk) -> tuple[float, float, float]:
    """Return progress_alignment_abs_diff, task_match and task_variation_match."""
    same_type = query.task_type == chunk.task_type
    same_task = same_type and query.task_id == chunk.task_id
    return abs(query.progress - chunk.progress), same_type, same_task


def part_distances(query: Query, chunks: Sequence[Chunk], vectors: Vectors, part: str) -> Vector:
    """Return the L2 distance of one part's vectors; 0 where one of two contexts is missing."""
    asked = getattr(query, part)
    texts = [getattr(chunk, part) for chunk in chunks]
    differences = vectors.of(texts) - vectors.of([asked])
    distances = np.sqrt(np.einsum("nd,nd->n", differences, differences))
    if part == "context":
        distances[[not (asked and text) for text in texts]] = 0.0
    return np.asarray(distances)


def text_features(query: Bags, documents: Sequence[Bags]) -> Matrix:
    """Return Jaccard, query overlap, TF-IDF cosine and bigram Jaccard, four parts each.

    A part that is empty on either side gives 0.
    """
    common = overlaps(query, documents)
    sizes = np.stack([document.sizes for document in documents])
    tokens, bigrams, terms = (_bags(kind) for kind in (TOKENS, BIGRAMS, TERMS))
    unions = query.sizes + sizes - common
    return np.hstack(
        [
            _ratio(common[:, tokens], unions[:, tokens]),
            _ratio(common[:, tokens], query.sizes[tokens]),
            np.clip(common[:, terms], 0.0, 1.0),
            _ratio(common[:, bigrams], unions[:, bigrams]),
        ]
    )


def _bags(kind: int) -> slice:
    return slice(len(PARTS) * kind, len(PARTS) * (kind + 1))


def _ratio(part: Matrix, whole: NDArray[Any]) -> Matrix:
    return np.asarray(part / np.maximum(whole, 1.0))
