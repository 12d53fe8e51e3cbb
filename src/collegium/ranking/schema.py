"""The 44 features of a candidate by name and category (formulas §2.2), and what fixes their values.

Two of the features are ids; in a matrix each of them is one column an id, so that a schema with p
producers and c consumers has 42 + p + c columns. An id that the schema does not know is all zeros.
"""

from enum import StrEnum
from itertools import accumulate
from typing import Final, Literal, NamedTuple

from collegium.core import Record, content_id


class Category(StrEnum):
    """What a feature tells about."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    FIRST_STAGE = "first-stage"
    QUERY = "query"
    TRAJECTORY = "trajectory"
    INTERACTION = "interaction"


class Feature(NamedTuple):
    """One of the 44."""

    name: str
    category: Category
    kind: Literal["float", "int", "bool", "categorical"]


BENCHMARKS: Final = (
    "source_aai",
    "source_gdpval_aa",
    "source_terminal_bench_hard",
    "source_tau_squared_bench_telecom",
    "source_aa_lcr",
    "source_aa_omniscience_accuracy",
    "source_hle",
    "source_gpqa_diamond",
    "source_scicode",
    "source_ifbench",
    "source_critpt",
    "source_context_window",
)
"""The producer's benchmark scores, 0 .. 100; the context window counts thousands of tokens."""
PARTS: Final = ("full", "goal", "state", "context")
"""Texts that query and key are compared in."""
PRODUCER_ID: Final = "agent_type"
CONSUMER_ID: Final = "consumer_id"


def _features(
    category: Category, kind: Literal["float", "int", "bool"], *names: str
) -> list[Feature]:
    return [Feature(name, category, kind) for name in names]


def _by_part(full: str, part: str) -> tuple[str, ...]:
    return (full, *(part.format(name) for name in PARTS[1:]))


SIMILARITIES: Final = _by_part("embedding_similarity", "{}_only_similarity")
JACCARDS: Final = _by_part("text_overlap_jaccard", "{}_only_jaccard")
QUERY_OVERLAPS: Final = _by_part("query_overlap_ratio", "{}_only_query_overlap")
TFIDFS: Final = _by_part("text_overlap_tfidf", "{}_only_overlap_tfidf")
BIGRAMS: Final = _by_part("text_overlap_bigram", "{}_only_overlap_bigram")

FEATURES: Final = (
    *_features(Category.PRODUCER, "float", *BENCHMARKS),
    Feature(PRODUCER_ID, Category.PRODUCER, "categorical"),
    Feature(CONSUMER_ID, Category.CONSUMER, "categorical"),
    Feature("retriever_score", Category.FIRST_STAGE, "float"),
    *_features(Category.QUERY, "int", "query_length", "step_index"),
    *_features(
        Category.TRAJECTORY, "int", "retrieved_text_length", "trajectory_length", "total_steps"
    ),
    Feature("success_flag", Category.TRAJECTORY, "bool"),
    *_features(Category.INTERACTION, "float", *SIMILARITIES, *JACCARDS, *QUERY_OVERLAPS),
    *_features(Category.INTERACTION, "float", *TFIDFS, *BIGRAMS),
    Feature("progress_alignment_abs_diff", Category.INTERACTION, "int"),
    *_features(Category.INTERACTION, "bool", "task_match", "task_variation_match"),
)
"""All 44, in the order of formulas §2.2."""


class FeatureSchema(Record):
    """What a feature matrix means: its columns, and everything else that fixes their values."""

    version: Literal[1] = 1
    """Of the definitions in this package."""
    names: tuple[str, ...] = tuple(feature.name for feature in FEATURES)
    producers: tuple[str, ...]
    """Ids with a column of their own, in order."""
    consumers: tuple[str, ...]
    embedder: str
    """`Embedder.name` of all vectors."""
    grammar: str
    resources: str
    """Digest of benchmark table and TF-IDF vectorisers."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a matrix: the features in order, ids expanded in their places."""
        ids = {
            PRODUCER_ID: [f"{PRODUCER_ID}__{name}" for name in self.producers],
            CONSUMER_ID: [f"consumer__{name}" for name in self.consumers],
        }
        return tuple(column for name in self.names for column in ids.get(name, [name]))

    @property
    def hash(self) -> str:
        """Content id: equal hashes, equal features for equal input."""
        return content_id(self)

    @property
    def blocks(self) -> dict[str, slice]:
        """The columns of each feature; an id has as many as are known."""
        widths = {PRODUCER_ID: len(self.producers), CONSUMER_ID: len(self.consumers)}
        ends = list(accumulate(widths.get(name, 1) for name in self.names))
        return {
            name: slice(end - widths.get(name, 1), end)
            for name, end in zip(self.names, ends, strict=True)
        }

    def span(self, first: str, last: str) -> slice:
        """Return the columns from feature `first` to feature `last`."""
        return slice(self.blocks[first].start, self.blocks[last].stop)
