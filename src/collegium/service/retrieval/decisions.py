"""Decisions and outcomes as events, in one stream a namespace."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from collegium.core import Query
from collegium.ranking.cascade import RankedList
from collegium.service.retrieval.exploration import Choice
from collegium.service.retrieval.records import (
    Candidate,
    DecidedRetrieval,
    Decision,
    Outcome,
    OutcomeInput,
)
from collegium.store.ledger import Event

STREAMS = "retrievals/"
"""How the names of the streams begin; the namespace follows."""
DECIDED = "retrieval.decided"
REPORTED = "outcome.reported"


def decision_key(retrieval_id: UUID) -> str:
    """Return the idempotency key of a decision."""
    return f"decision:{retrieval_id}"


def outcome_key(retrieval_id: UUID) -> str:
    """Return the idempotency key of the one outcome of a decision."""
    return f"outcome:{retrieval_id}"


def candidates_of(ranked: RankedList, choice: Choice, *, scored: bool) -> tuple[Candidate, ...]:
    """Return the candidates as recorded; `scored`: by a ranker."""
    return tuple(
        Candidate(
            chunk_id=candidate.guidance.chunk.chunk_id,
            trajectory_id=candidate.guidance.chunk.trajectory_id,
            progress=candidate.guidance.chunk.progress,
            producer=candidate.guidance.chunk.producer,
            retrieval_rank=candidate.guidance.rank,
            retrieval_score=candidate.guidance.retrieval_score,
            score=candidate.score if scored else None,
            propensity=propensity,
        )
        for candidate, propensity in zip(ranked.candidates, choice.propensities, strict=True)
    )


def decided(decision: Decision, query: Query, asker: str) -> dict[str, Any]:
    """Return the payload of a decision for `query`, asked with the key `asker`."""
    return {
        "decision": decision.model_dump(mode="json"),
        "query": query.model_dump(mode="json"),
        "asker": asker,
    }


def reported(given: OutcomeInput, decision: Mapping[str, Any], reporter: str) -> dict[str, Any]:
    """Return the payload of an outcome: with what of the decision it is the outcome of."""
    made, query = decision["decision"], decision["query"]
    return {
        "retrieval_id": str(given.retrieval_id),
        "consumer": query["consumer"],
        "task_id": query["task_id"],
        "mode": made["mode"],
        "chunk_id": made["shown"][0] if made["shown"] else None,
        "producer": first_producer(made),
        "propensity": made["propensity"],
        "success": given.success,
        "score": given.score,
        "steps": given.steps,
        "reporter": reporter,
    }


def first_producer(decision: Mapping[str, Any]) -> str | None:
    """Return the producer of what stood first; None where nothing was shown."""
    shown: Sequence[str] = decision["shown"]
    producers = {c["chunk_id"]: c["producer"] for c in decision["candidates"]}
    return producers[shown[0]] if shown else None


def retrieval_of(event: Event, outcome: Event | None) -> DecidedRetrieval:
    """Return the retrieval that the event of its decision tells, with its outcome if reported."""
    return DecidedRetrieval(
        query=Query.model_validate(event.payload["query"]),
        decision=Decision.model_validate(event.payload["decision"]),
        decided_at=event.recorded_at,
        position=event.position,
        outcome=outcome_of(outcome) if outcome else None,
    )


def outcome_of(event: Event) -> Outcome:
    """Return the outcome that an event tells."""
    return Outcome(
        **event.payload,
        namespace=event.stream.removeprefix(STREAMS),
        observed_at=event.observed_at,
        recorded_at=event.recorded_at,
        position=event.position,
    )
