"""A trained ranker in its folder: the card that tells all about it, its files, how it is loaded.

Layout of `models/<name>/`::

    card.json           `RankerCard`, written last: a folder with a card is complete
    resources.json      benchmark table, vocabularies, and with idf.safetensors the TF-IDF weights
    <the ranker's own>  text or safetensors; never a pickle

The card names the SHA-256 of each file and the hash of its feature schema; both are checked when a
model is loaded, and the schema again with each request.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from collegium.core import CorruptDataError, InvalidInputError, NotFoundError, Record, content_id
from collegium.ranking.extras import require_ranking
from collegium.ranking.protocol import Ranker
from collegium.ranking.resources import FeatureResources, load_resources, save_resources
from collegium.ranking.schema import FeatureSchema
from collegium.store.files import write_text

CARD = "card.json"


class GateVerdict(Record):
    """What held-out episodes say of a ranker beside the similarity order."""

    status: Literal["pass", "fail", "insufficient"]
    delta_success: float
    """Paired difference in success rate, in [-1, 1]."""
    low: float
    """Bounds of its 95 % interval."""
    high: float
    delta_steps: float | None
    """Paired difference in mean steps; negative is faster. None where nothing was paired."""
    pairs: int = Field(ge=0)
    """Paired episodes."""
    baseline: str
    """The arm it was compared with."""
    run: str
    """Digest of the run of the episodes."""


class OrderQuality(Record):
    """How good an order of the labelled candidates is, over the groups of one set of questions."""

    ndcg: float | None
    """Mean over the groups with a relevant candidate, as `ranking.metrics` defines it."""
    ndcg_others: float | None
    """Mean over the groups without one whose labels differ: what to keep away from."""
    ndcg_differing: float | None
    """Mean over all groups whose labels differ: what orders are compared by."""
    top_label: float | None
    """Mean label of what stands first, over all groups."""


class RankingMetrics(Record):
    """The ranker's order on held-out questions, beside what needs no training."""

    groups: int
    """Groups that were ordered."""
    groups_relevant: int
    """Those with at least one candidate of positive label: only they enter the NDCG."""
    groups_differing: int
    """Those in which not all labels are equal."""
    ranker: OrderQuality
    similarity: OrderQuality
    """The first stage's own order."""
    random: OrderQuality
    """Expectation over all orders."""
    best: OrderQuality
    """The best order there is."""


class Bounds(Record):
    """A difference in NDCG with its 95 % interval over questions."""

    value: float
    low: float | None
    """None where fewer than two questions tell anything; so is `high`."""
    high: float | None


class Advantage(Record):
    """How much better the ranker orders groups whose labels differ, each held out once."""

    over_random: Bounds
    over_similarity: Bounds


class RankerCard(Record):
    """The content of `card.json`."""

    schema_version: Literal[1] = 1
    name: str
    """Of the folder, e.g. `lambdamart` or `lambdamart_null`."""
    kind: str
    """`lambdamart`, `svmrank`, `ffn` or `personal`."""
    features: FeatureSchema
    schema_hash: str
    """`features.hash`, for those who do not recompute it."""
    hyperparameters: dict[str, Any]
    seed: int
    target: Literal["paper", "paired"]
    """Trained on s_j - s_base, or on s_j - s_control."""
    grades: dict[str, float]
    """How labels became grades and gains: label -> gain."""
    null_candidate: bool
    """Whether showing nothing is one of the candidates."""
    labels: str
    """Digest of the labels it was trained on."""
    run: str
    """Digest of the configuration of the run that trained it."""
    groups: int
    """Groups it was trained on."""
    metrics: RankingMetrics
    """On the questions that were held out of its training."""
    cross_validated: RankingMetrics
    """Of rankers trained alike, each question ordered by one that was not trained on it: one split
    may hold out a handful of groups whose labels differ."""
    advantage: Advantage | None = None
    """Of `cross_validated`; None where it was not measured."""
    useless: str = ""
    """Why it learned nothing, where the configuration kept it all the same; else empty."""
    files: dict[str, str]
    """SHA-256 of each file by its name below the folder."""
    verdict: GateVerdict | None = None
    """None until the gate has judged it; only `pass` may serve."""

    @property
    def model_id(self) -> str:
        """Content id of the model; the verdict is not part of it.

        Nor are fields that hold their defaults, so that a field that cards gain later renames none.
        """
        said = self.model_dump(mode="json", exclude={"verdict"}, exclude_defaults=True)
        return content_id(said, length=16)

    @property
    def may_serve(self) -> bool:
        """Whether the gate has passed it."""
        return self.verdict is not None and self.verdict.status == "pass"


@dataclass(frozen=True)
class RankingModel:
    """A ranker with what its features are computed from."""

    card: RankerCard
    ranker: Ranker
    resources: FeatureResources

    @property
    def schema(self) -> FeatureSchema:
        """The features it scores."""
        return self.card.features

    def check_schema(self, schema_hash: str) -> None:
        """Raise InvalidInputError when features of another schema are offered."""
        if schema_hash != self.card.schema_hash:
            raise InvalidInputError(
                f"model {self.card.name!r} scores features of schema {self.card.schema_hash}, not "
                f"{schema_hash}: compute them with the model's own resources"
            )


def save_model(
    folder: Path, ranker: Ranker, resources: FeatureResources, about: Mapping[str, Any]
) -> RankerCard:
    """Write a model into `folder`, its card last, and return the card.

    Args:
        folder: Made when it is missing; its name is the model's.
        ranker: Writes its own files.
        resources: What its features are computed from.
        about: The other fields of `RankerCard`; `features` among them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CARD).unlink(missing_ok=True)
    ranker.save(folder)
    save_resources(resources, folder)
    card = RankerCard.model_validate(
        {
            "name": folder.name,
            "kind": ranker.kind,
            "schema_hash": about["features"].hash,
            "files": _digests(folder),
            **about,
        }
    )
    _write_card(folder, card)
    return card


def load_model(folder: Path) -> RankingModel:
    """Return the model in `folder`.

    Raises:
        MissingDependencyError: The extra `ranking` is not installed.
        NotFoundError: There is no card, or a file that it names is missing.
        CorruptDataError: A file is not the one the card names, or the schema hash is another.
    """
    from collegium.ranking.kinds import load_ranker

    require_ranking()
    card = read_card(folder)
    _check_files(folder, card)
    resources = load_resources(folder)
    if card.features.hash != card.schema_hash or card.features.resources != resources.digest:
        raise CorruptDataError(
            f"{folder}: the card's feature schema is not that of its resources; train it again"
        )
    return RankingModel(card, load_ranker(card.kind, folder), resources)


def read_card(folder: Path) -> RankerCard:
    """Return the card in `folder`; raises NotFoundError or CorruptDataError naming the file."""
    file = folder / CARD
    try:
        return RankerCard.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        raise NotFoundError(
            f"{file} is not there: train rankers first, with pipelines/train_rerankers.py"
        ) from None
    except ValidationError as error:
        raise CorruptDataError(f"{file} is no card of a ranker: {error}") from None


def write_verdict(folder: Path, verdict: GateVerdict) -> RankerCard:
    """Put the gate's verdict into the card in `folder`, in one step, and return the card."""
    card = read_card(folder).model_copy(update={"verdict": verdict})
    _write_card(folder, card)
    return card


def _write_card(folder: Path, card: RankerCard) -> None:
    write_text(folder / CARD, card.model_dump_json(indent=1) + "\n")


def _digests(folder: Path) -> dict[str, str]:
    files = sorted(f for f in folder.rglob("*") if f.is_file() and not f.name.startswith("."))
    return {file.relative_to(folder).as_posix(): _sha256(file) for file in files}


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _check_files(folder: Path, card: RankerCard) -> None:
    for name, expected in card.files.items():
        file = folder / name
        if not file.is_file():
            raise NotFoundError(f"{file} is not there: restore it, or train the ranker again")
        if (found := _sha256(file)) != expected:
            raise CorruptDataError(f"{file} has SHA-256 {found}, its card says {expected}")
