"""What each producer gave to a namespace and what became of it: a read model.

A namespace has two streams, contributions and retrievals, and so two states; `merge` puts them
together. A state counts by producer, and holds the evidence of the outcomes by task and producer,
"" standing for nothing shown.
"""

import math
from collections.abc import Mapping
from typing import Any

from collegium.experience.credit import Credit, Evidence, producer_credit
from collegium.service.retrieval.decisions import DECIDED, REPORTED, first_producer
from collegium.service.retrieval.decisions import STREAMS as RETRIEVALS
from collegium.service.retrieval.records import Producer, ProducerCredit
from collegium.service.trajectories import CONTRIBUTED
from collegium.service.trajectories import STREAMS as TRAJECTORIES
from collegium.store.ledger import Event
from collegium.store.ledger.read_models import State

_COUNTS = ("trajectories", "successes", "retrievals", "outcomes", "won")
_NO_COUNTS = dict.fromkeys(_COUNTS, 0)
_NOTHING = ""


class ProducerModel:
    """The fold; see `store.ledger.read_models.ReadModel`."""

    name = "producers/1"

    def wants(self, stream: str) -> bool:
        """Return whether it is a stream of contributions or of retrievals."""
        return stream.startswith((TRAJECTORIES, RETRIEVALS))

    def initial(self) -> State:
        """Return no producers."""
        return {"producers": {}, "outcomes": {}}

    def fold(self, state: State, event: Event) -> State:
        """Count one event."""
        payload, outcomes = event.payload, state["outcomes"]
        producer, added = _counts(event)
        if event.type == REPORTED:
            outcomes = _with_outcome(outcomes, payload)
        producers = state["producers"]
        if producer is not None:
            before = producers.get(producer, _NO_COUNTS)
            counts = {name: before[name] + added.get(name, 0) for name in _COUNTS}
            producers = {**producers, producer: counts}
        return {"producers": producers, "outcomes": outcomes}


def merge(contributed: State, retrieved: State) -> tuple[Producer, ...]:
    """Return all producers of a namespace's two states, sorted by name."""
    evidence = [
        Evidence(name or None, task, *sums)
        for task, by_producer in sorted(retrieved["outcomes"].items())
        for name, sums in sorted(by_producer.items())
    ]
    credits = {one.producer: one for one in producer_credit(evidence, centred=True)}
    given, asked = contributed["producers"], retrieved["producers"]
    return tuple(
        _producer(name, given.get(name, _NO_COUNTS), asked.get(name, _NO_COUNTS), credits.get(name))
        for name in sorted(given.keys() | asked.keys())
    )


def _counts(event: Event) -> tuple[str | None, dict[str, int]]:
    payload = event.payload
    if event.type == CONTRIBUTED:
        won = int(payload["trajectory"]["success"])
        return payload["producer"], {"trajectories": 1, "successes": won}
    if event.type == DECIDED:
        return first_producer(payload["decision"]), {"retrievals": 1}
    if event.type == REPORTED:
        return payload["producer"], {"outcomes": 1, "won": int(payload["success"])}
    return None, {}


def _with_outcome(outcomes: State, payload: Mapping[str, Any]) -> State:
    task, producer = payload["task_id"], payload["producer"] or _NOTHING
    weight = 1.0 / payload["propensity"]
    before = outcomes.get(task, {})
    weights, values = before.get(producer, (0.0, 0.0))
    sums = [weights + weight, values + weight * payload["score"]]
    return {**outcomes, task: {**before, producer: sums}}


def _producer(
    name: str, given: Mapping[str, int], asked: Mapping[str, int], credit: Credit | None
) -> Producer:
    outcomes = asked["outcomes"]
    return Producer(
        producer=name,
        trajectories=given["trajectories"],
        successes=given["successes"],
        retrievals=asked["retrievals"],
        outcomes=outcomes,
        success_rate=asked["won"] / outcomes if outcomes else None,
        credit=_told(credit) if credit else None,
    )


def _told(credit: Credit) -> ProducerCredit:
    estimate, low, high = credit.credit
    return ProducerCredit(
        tasks=credit.questions,
        estimate=estimate,
        low=low if math.isfinite(low) else None,
        high=high if math.isfinite(high) else None,
    )
