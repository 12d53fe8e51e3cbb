"""How candidates are ordered: by similarity, or by a ranker that the gate has passed."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from collegium.core import ConfigError, Guidance, InvalidInputError, Query
from collegium.embedding import Embedder
from collegium.ranking.card import RankerCard, RankingModel, load_model
from collegium.ranking.cascade import RankedCandidate, RankedList, Reranker
from collegium.ranking.features import RECENT
from collegium.service.retrieval.library import Library
from collegium.service.retrieval.settings import SIMILARITY


class Order(Protocol):
    """A mode of retrieval."""

    @property
    def card(self) -> RankerCard | None:
        """The ranker's card; None where none is used."""
        ...

    async def order(self, query: Query, guidance: Sequence[Guidance]) -> RankedList:
        """Return all of `guidance`, which comes closest first, best first."""
        ...


class SimilarityOrder:
    """The first stage's own order."""

    card: RankerCard | None = None

    async def order(self, query: Query, guidance: Sequence[Guidance]) -> RankedList:
        """See `Order`."""
        return RankedList(
            tuple(RankedCandidate(found, -found.retrieval_score) for found in guidance), None
        )


class RankerOrder:
    """A ranker's order."""

    def __init__(self, model: RankingModel, embedder: Embedder) -> None:
        """Order by `model`; raises InvalidInputError if its features need another embedder."""
        self.card = model.card
        self._reranker = Reranker(model, embedder)

    def prepare(self, library: Library) -> None:
        """Compute ahead of requests what depends on the library's newest chunks alone."""
        self._reranker.prepare(library.newest(self.card.features.grammar, RECENT))

    async def order(self, query: Query, guidance: Sequence[Guidance]) -> RankedList:
        """See `Order`; raises InvalidInputError for another grammar than the model's."""
        return await self._reranker.order(query, guidance)


class Modes:
    """The modes of a service by name."""

    def __init__(self, orders: Mapping[str, Order], default: str) -> None:
        """Offer `orders`; raises ConfigError if `default` is none of them."""
        self._orders = dict(orders)
        self._default = default
        if default not in self._orders:
            raise ConfigError(f"default_mode: no mode {default!r}; known: {self._known()}")

    def find(self, name: str | None) -> tuple[str, Order]:
        """Return a mode and its name; raises InvalidInputError, which names those known."""
        chosen = self._default if name is None else name
        if chosen not in self._orders:
            raise InvalidInputError(f"mode: no {chosen[:64]!r}; known: {self._known()}")
        return chosen, self._orders[chosen]

    def prepare(self, library: Library) -> None:
        """Make the rankers ready for what `library` holds."""
        for order in self._orders.values():
            if isinstance(order, RankerOrder):
                order.prepare(library)

    def _known(self) -> str:
        return ", ".join(sorted(self._orders))


def load_modes(
    folders: Iterable[Path], embedder: Embedder, default: str, *, allow_ungated: bool
) -> Modes:
    """Load the rankers, and return them with the similarity order.

    Raises:
        NotFoundError: A folder holds no model.
        CorruptDataError: A file of a model is not the one it was saved with.
        ConfigError: The gate has not passed a model, or two have the same name.
    """
    orders: dict[str, Order] = {SIMILARITY: SimilarityOrder()}
    for folder in folders:
        model = load_model(folder)
        name = model.card.name
        if name in orders:
            raise ConfigError(f"models: {folder} is another one of the name {name!r}; rename it")
        if not (model.card.may_serve or allow_ungated):
            raise ConfigError(_refusal(folder, model.card))
        orders[name] = RankerOrder(model, embedder)
    return Modes(orders, default)


def gate_of(card: RankerCard) -> str:
    """Return the gate's verdict on a ranker, `none` before there is one."""
    return card.verdict.status if card.verdict else "none"


def _refusal(folder: Path, card: RankerCard) -> str:
    found = card.verdict
    verdict = "has not been before the gate"
    if found:
        verdict = (
            f"has the verdict {found.status!r} (Δ success {100 * found.delta_success:+.1f} points, "
            f"{100 * found.low:+.1f} to {100 * found.high:+.1f}, {found.pairs} pairs)"
        )
    return (
        f"models: {folder} {verdict}; only what passes may serve. Evaluate it against the order by "
        "similarity, or serve it all the same with --allow-ungated, which each answer then says"
    )
