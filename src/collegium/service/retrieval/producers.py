"""What each producer gave to a namespace and what became of it: a read model.

Its state is a row of counts for each producer; contributions, and decisions with their outcomes,
are two streams, so a namespace has two states, which `merge` puts together.
"""

from typing import Any

from collegium.service.retrieval.decisions import DECIDED, REPORTED, first_producer
from collegium.service.retrieval.decisions import STREAMS as RETRIEVALS
from collegium.service.retrieval.records import Producer
from collegium.service.trajectories import CONTRIBUTED
from collegium.service.trajectories import STREAMS as TRAJECTORIES
from collegium.store.ledger import Event
from collegium.store.ledger.read_models import State

_NONE = {
    "trajectories": 0,
    "successes": 0,
    "retrievals": 0,
    "outcomes": 0,
    "won": 0,
    "weight": 0.0,
    "weighted_score": 0.0,
}


class ProducerModel:
    """The fold; see `store.ledger.read_models.ReadModel`."""

    name = "producers/1"

    def wants(self, stream: str) -> bool:
        """Return whether it is a stream of contributions or of retrievals."""
        return stream.startswith((TRAJECTORIES, RETRIEVALS))

    def initial(self) -> State:
        """Return no producers."""
        return {}

    def fold(self, state: State, event: Event) -> State:
        """Count one event."""
        producer, added = _counts(event)
        if producer is None:
            return state
        before = state.get(producer, _NONE)
        return {**state, producer: {k: before[k] + added.get(k, 0) for k in _NONE}}


def _counts(event: Event) -> tuple[str | None, dict[str, Any]]:
    payload = event.payload
    if event.type == CONTRIBUTED:
        won = int(payload["trajectory"]["success"])
        return payload["producer"], {"trajectories": 1, "successes": won}
    if event.type == DECIDED:
        return first_producer(payload["decision"]), {"retrievals": 1}
    if event.type == REPORTED:
        weight = 1.0 / payload["propensity"]
        return payload["producer"], {
            "outcomes": 1,
            "won": int(payload["success"]),
            "weight": weight,
            "weighted_score": weight * payload["score"],
        }
    return None, {}


def merge(contributed: State, retrieved: State) -> tuple[Producer, ...]:
    """Return all producers of both states, sorted by name."""
    names = sorted(contributed.keys() | retrieved.keys())
    return tuple(
        _producer(name, contributed.get(name, _NONE), retrieved.get(name, _NONE)) for name in names
    )


def _producer(name: str, contributed: State, retrieved: State) -> Producer:
    outcomes, weight = retrieved["outcomes"], retrieved["weight"]
    return Producer(
        producer=name,
        trajectories=contributed["trajectories"],
        successes=contributed["successes"],
        retrievals=retrieved["retrievals"],
        outcomes=outcomes,
        success_rate=retrieved["won"] / outcomes if outcomes else None,
        mean_score=retrieved["weighted_score"] / weight if outcomes else None,
    )
