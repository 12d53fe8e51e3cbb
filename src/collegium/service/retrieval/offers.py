"""The use-cases of retrieval as operations."""

from typing import Any
from uuid import UUID

from collegium.core import ConflictError, NotFoundError, Task
from collegium.service.operations import Operation, Scope
from collegium.service.retrieval.records import (
    DecidedRetrieval,
    LiveState,
    Outcome,
    OutcomeInput,
    OutcomePage,
    OutcomesInput,
    ProducerList,
    ProducersInput,
    RetrievalInput,
    RetrieveInput,
    RetrieveOutput,
    TakenStep,
)
from collegium.service.retrieval.use_cases import RetrievalService

_RETRIEVAL_ID = UUID("0198c2a4-7d1e-7aa3-9a55-3d6c1f2b4e70")


def retrieval_operations(retrieval: RetrievalService) -> tuple[Operation[Any, Any], ...]:
    """Return the use-cases as operations."""
    retrieve = Operation(
        name="retrieve",
        summary="Find guidance for a live state: what helped others there, best first",
        scope=Scope.READ,
        method="POST",
        path="/v1/namespaces/{namespace}/retrieve",
        input=RetrieveInput,
        output=RetrieveOutput,
        handler=retrieval.retrieve,
        example=_example(),
    )
    outcome = Operation(
        name="report_outcome",
        summary="Report what a retrieval led to",
        scope=Scope.WRITE,
        method="POST",
        path="/v1/namespaces/{namespace}/outcomes",
        input=OutcomeInput,
        output=Outcome,
        handler=retrieval.report,
        example=OutcomeInput(
            namespace="demo", retrieval_id=_RETRIEVAL_ID, success=True, score=1.0, steps=9
        ),
        errors=(NotFoundError, ConflictError),
        takes_idempotency_key=True,
    )
    return (retrieve, outcome, *_reading(retrieval))


def _reading(retrieval: RetrievalService) -> tuple[Operation[Any, Any], ...]:
    read = Operation(
        name="read_retrieval",
        summary="Read why a retrieval answered as it did, and what it led to",
        scope=Scope.READ,
        method="GET",
        path="/v1/namespaces/{namespace}/retrievals/{retrieval_id}",
        input=RetrievalInput,
        output=DecidedRetrieval,
        handler=retrieval.read,
        example=RetrievalInput(namespace="demo", retrieval_id=_RETRIEVAL_ID),
        errors=(NotFoundError,),
    )
    outcomes = Operation(
        name="list_outcomes",
        summary="List what a namespace's retrievals led to",
        scope=Scope.READ,
        method="GET",
        path="/v1/namespaces/{namespace}/outcomes",
        input=OutcomesInput,
        output=OutcomePage,
        handler=retrieval.outcomes,
        example=OutcomesInput(namespace="demo"),
    )
    producers = Operation(
        name="list_producers",
        summary="List whose experience a namespace holds, and what became of it",
        scope=Scope.READ,
        method="GET",
        path="/v1/namespaces/{namespace}/producers",
        input=ProducersInput,
        output=ProducerList,
        handler=retrieval.producers,
        example=ProducersInput(namespace="demo"),
    )
    return (read, outcomes, producers)


def _example() -> RetrieveInput:
    return RetrieveInput(
        namespace="demo",
        task=Task(
            environment="household",
            task_id="pick_and_place_simple-Mug-None-Desk-310/trial_2",
            task_type="pick_and_place_simple",
            split="train",
            goal="put some mug on desk.",
        ),
        state=LiveState(
            grammar="alfworld-0.4",
            initial_observation="You are in the middle of a room. You see a desk 1 and a bed 1.",
            steps=(TakenStep(action="go to bed 1", observation="On the bed 1, you see a mug 1."),),
        ),
        consumer="agent-b",
        k=1,
    )
