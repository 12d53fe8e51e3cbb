"""Retrieving guidance, reporting what it led to, and who produced it.

A retrieval is answered once its decision is in the ledger, so no outcome can be reported of one
that was lost. Decisions that come together are appended together.
"""

from collections.abc import Callable
from uuid import UUID

from collegium.agents.guidance import GuidanceText
from collegium.core import Clock, ConflictError, NotFoundError, uuid7
from collegium.experience.batching import MicroBatcher
from collegium.ranking.cascade import RankedList
from collegium.service.operations import Call
from collegium.service.retrieval.decisions import (
    DECIDED,
    REPORTED,
    STREAMS,
    candidates_of,
    decided,
    decision_key,
    outcome_key,
    outcome_of,
    reported,
    retrieval_of,
)
from collegium.service.retrieval.exploration import Choice, choose
from collegium.service.retrieval.first_stage import FirstStage, Wanted
from collegium.service.retrieval.orders import Modes, Order, gate_of
from collegium.service.retrieval.producers import ProducerModel, merge
from collegium.service.retrieval.records import (
    DecidedRetrieval,
    Decision,
    Exploration,
    Outcome,
    OutcomeInput,
    OutcomePage,
    OutcomesInput,
    ProducerList,
    ProducersInput,
    RankedChunk,
    RetrievalInput,
    RetrieveInput,
    RetrieveOutput,
)
from collegium.service.retrieval.settings import ExplorationConfig
from collegium.service.trajectories import STREAMS as TRAJECTORIES
from collegium.store.ledger import Event, NewEvent
from collegium.store.ledger.postgres import PostgresLedger
from collegium.store.ledger.read_models import Projector

Entropy = Callable[[int], bytes]
"""Gives that many bytes nobody can guess."""


class RetrievalService:
    """The use-cases of retrieval over one ledger; `retrieve` for one event loop."""

    def __init__(
        self,
        ledger: PostgresLedger,
        first_stage: FirstStage,
        modes: Modes,
        exploration: ExplorationConfig,
        *,
        embedder: str,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        """Find in `first_stage`, order by one of `modes`, and note all of it in `ledger`."""
        self._ledger = ledger
        self._first_stage = first_stage
        self._modes = modes
        self._exploration = exploration
        self._embedder = embedder
        self._clock = clock
        self._entropy = entropy
        self._text = GuidanceText()
        self._appender = MicroBatcher(ledger.append_batch)
        self._producers = Projector(ledger, ProducerModel())

    async def retrieve(self, call: Call, given: RetrieveInput) -> RetrieveOutput:
        """Return guidance, best first; raises InvalidInputError for what is unknown."""
        mode, order = self._modes.find(given.mode)
        query = given.as_query()
        wanted = Wanted(given.namespace, query, given.scope, given.exclude_own_task)
        found = await self._first_stage.find(wanted)
        ranked = await order.order(query, found.guidance)
        retrieval_id = uuid7(self._clock.now(), self._entropy(10))
        choice = choose(ranked, given.k, self._exploration, retrieval_id)
        decision = self._decision(retrieval_id, given, mode, order, ranked, choice, found.as_of)
        event = NewEvent(
            stream=f"{STREAMS}{given.namespace}",
            type=DECIDED,
            payload=decided(decision, query, call.caller.key_id),
            observed_at=self._clock.now(),
            idempotency_key=decision_key(retrieval_id),
        )
        stored = await self._appender.submit(event)
        guidance = self._guidance(ranked, choice)
        return RetrieveOutput(guidance=guidance, decision=decision, position=stored.position)

    def read(self, call: Call, given: RetrievalInput) -> DecidedRetrieval:
        """Return a retrieval's decision, and its outcome if reported; raises NotFoundError."""
        stream = f"{STREAMS}{given.namespace}"
        outcome = self._ledger.find(stream, outcome_key(given.retrieval_id))
        return retrieval_of(self._decided(given.namespace, given.retrieval_id), outcome)

    def outcomes(self, call: Call, given: OutcomesInput) -> OutcomePage:
        """Return one page of outcomes."""
        as_of = self._ledger.position()
        stream = f"{STREAMS}{given.namespace}"
        events = self._ledger.stream(stream, given.after, given.limit)
        return OutcomePage(
            items=tuple(outcome_of(event) for event in events if event.type == REPORTED),
            next=events[-1].version if len(events) == given.limit else None,
            as_of=as_of,
        )

    def report(self, call: Call, given: OutcomeInput) -> Outcome:
        """Record what a retrieval led to; once it returns, it stays recorded.

        Raises:
            NotFoundError: The namespace has no such retrieval.
            ConflictError: Another outcome of it was reported before.
        """
        made = self._decided(given.namespace, given.retrieval_id)
        event = NewEvent(
            stream=made.stream,
            type=REPORTED,
            payload=reported(given, made.payload, call.caller.key_id),
            observed_at=given.observed_at or self._clock.now(),
            idempotency_key=outcome_key(given.retrieval_id),
        )
        try:
            return outcome_of(self._ledger.append(event))
        except ConflictError:
            raise ConflictError(
                f"another outcome of retrieval {given.retrieval_id} was reported before, "
                "and that one counts"
            ) from None

    def producers(self, call: Call, given: ProducersInput) -> ProducerList:
        """Return all producers of a namespace, as of now."""
        contributed = self._producers.view(f"{TRAJECTORIES}{given.namespace}")
        retrieved = self._producers.view(f"{STREAMS}{given.namespace}")
        return ProducerList(
            producers=merge(contributed.state, retrieved.state),
            as_of=min(contributed.as_of, retrieved.as_of),
        )

    def _decided(self, namespace: str, retrieval_id: UUID) -> Event:
        made = self._ledger.find(f"{STREAMS}{namespace}", decision_key(retrieval_id))
        if made is None:
            raise NotFoundError(f"no retrieval {retrieval_id} in {namespace}")
        return made

    def _decision(
        self,
        retrieval_id: UUID,
        given: RetrieveInput,
        mode: str,
        order: Order,
        ranked: RankedList,
        choice: Choice,
        as_of: int,
    ) -> Decision:
        card = order.card
        candidates = candidates_of(ranked, choice, scored=card is not None)
        rate = self._exploration.rate
        return Decision(
            retrieval_id=retrieval_id,
            namespace=given.namespace,
            mode=mode,
            model_id=card.model_id if card else None,
            gate=gate_of(card) if card else None,
            ungated=card is not None and not card.may_serve,
            feature_schema=card.schema_hash if card else None,
            embedder=self._embedder,
            scope=given.scope,
            exclude_own_task=given.exclude_own_task,
            as_of=as_of,
            candidates=candidates,
            null_propensity=choice.null_propensity,
            exploration=Exploration(rate=rate, over=choice.over, explored=choice.explored),
            shown=tuple(candidates[place].chunk_id for place in choice.shown),
            propensity=choice.propensity,
        )

    def _guidance(self, ranked: RankedList, choice: Choice) -> tuple[RankedChunk, ...]:
        shown = (ranked.candidates[place].guidance for place in choice.shown)
        return tuple(
            RankedChunk(rank=rank, chunk=guidance.chunk, text=self._text(guidance))
            for rank, guidance in enumerate(shown, start=1)
        )
