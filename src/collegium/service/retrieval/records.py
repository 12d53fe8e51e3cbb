"""What the use-cases of retrieval take and give."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, Field, StringConstraints

from collegium.agents.protocol import View
from collegium.agents.queries import build_query
from collegium.core import Chunk, Query, Record, Step, Task
from collegium.experience import Scope
from collegium.service.operations import NamespacedInput

MAX_K = 20
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class TakenStep(Record):
    """A step that the consumer has taken."""

    action: str
    observation: str
    """The environment's answer."""


class LiveState(Record):
    """Where the consumer stands: what it saw first, then what it did and what it saw."""

    grammar: Name
    """Of the environment's commands, e.g. `alfworld-0.4`; only guidance of the same is found."""
    initial_observation: str
    steps: tuple[TakenStep, ...] = Field(default=(), max_length=1000)
    """Oldest first."""


class RetrieveInput(NamespacedInput):
    """A consumer in a live state that asks for guidance."""

    task: Task
    """What it plays."""
    state: LiveState
    """Where it stands."""
    consumer: Name
    """Id of the agent that asks."""
    scope: Scope = Scope.FULL
    """`full`, `same_task` (chunks of the task's type) or `cross_task` (of all other types)."""
    exclude_own_task: bool = True
    """Leave out chunks of the very task that is played."""
    k: int = Field(default=5, ge=1, le=MAX_K)
    """Most chunks to return."""
    mode: Name | None = None
    """`similarity`, or the name of a ranker; null: the service's default."""

    def as_query(self) -> Query:
        """Return the query that an agent in this state asks, as chunks' keys are built."""
        steps = tuple(
            Step(action=step.action, observation=step.observation) for step in self.state.steps
        )
        seen = steps[-1].observation if steps else self.state.initial_observation
        view = View(
            task=self.task,
            initial_observation=self.state.initial_observation,
            steps=steps,
            observation=seen,
            admissible=(),
            step_limit=len(steps),
        )
        return build_query(view, grammar=self.state.grammar, consumer=self.consumer)


class Candidate(Record):
    """A chunk that the first stage found."""

    chunk_id: str
    trajectory_id: str
    progress: int
    """The chunk begins with this step of the trajectory, from 0."""
    producer: str
    retrieval_rank: int
    """Its place by similarity, from 1."""
    retrieval_score: float
    """Squared distance of the embeddings; smaller is closer."""
    score: float | None
    """The ranker's; null in the mode `similarity`."""
    propensity: float
    """Probability with which it stood first."""


class Exploration(Record):
    """How what stands first was chosen."""

    rate: float
    over: int
    """Candidates among which a draw would choose; showing nothing may be one of them."""
    explored: bool
    """Whether this retrieval was one of the draws."""


class Decision(Record):
    """Why these chunks: enough to learn from the outcome, and to do it again."""

    retrieval_id: UUID
    namespace: str
    mode: str
    model_id: str | None
    """Content id of the ranker; null in the mode `similarity`."""
    gate: str | None
    """The gate's verdict on the ranker: `pass`, `fail`, `insufficient`, or `none` yet."""
    ungated: bool
    """Whether a ranker answered that the gate has not passed."""
    feature_schema: str | None
    """Hash of what the ranker's features mean."""
    embedder: str
    scope: Scope
    exclude_own_task: bool
    as_of: int
    """Position of the ledger: all contributions up to there were searched, and no later ones."""
    candidates: tuple[Candidate, ...]
    """All that were ordered, best first."""
    null_propensity: float | None
    """Probability with which nothing was shown; null where a ranker cannot say so."""
    exploration: Exploration
    shown: tuple[str, ...]
    """Ids of the chunks in the answer, in order."""
    propensity: float
    """Probability with which what stands first in the answer, or nothing, did so."""


class RankedChunk(Record):
    """A chunk of the answer."""

    rank: int
    """Its place in the answer, from 1."""
    chunk: Chunk
    text: str
    """The guidance as it stands in a prompt."""


class RetrieveOutput(Record):
    """Guidance, best first, and the decision behind it."""

    guidance: tuple[RankedChunk, ...]
    """Empty where nothing was found, or showing nothing was chosen."""
    decision: Decision
    position: int
    """Of the decision's event in the ledger."""


class OutcomeInput(NamespacedInput):
    """What a retrieval led to."""

    retrieval_id: UUID
    """Of the decision."""
    success: bool
    """Whether the consumer's episode succeeded."""
    score: float = Field(ge=0, le=1)
    """The episode's score."""
    steps: int = Field(ge=0)
    """Steps that the episode took in all."""
    observed_at: AwareDatetime | None = None
    """When it ended; null: now."""


class Outcome(Record):
    """An outcome as an entry of the ledger."""

    retrieval_id: UUID
    namespace: str
    consumer: str
    task_id: str
    mode: str
    chunk_id: str | None
    """What stood first; null where nothing was shown."""
    producer: str | None
    propensity: float
    success: bool
    score: float
    steps: int
    reporter: str
    """Id of the key that it came with."""
    observed_at: datetime
    recorded_at: datetime
    position: int


class RetrievalInput(NamespacedInput):
    """Which retrieval."""

    retrieval_id: UUID
    """Of its decision."""


class DecidedRetrieval(Record):
    """A retrieval as the ledger has it."""

    query: Query
    """What was searched for."""
    decision: Decision
    decided_at: datetime
    position: int
    """Of the decision's event."""
    outcome: Outcome | None
    """What it led to; null until that is reported."""


class OutcomesInput(NamespacedInput):
    """Which page of a namespace's outcomes."""

    after: int = Field(default=0, ge=0)
    """`next` of the page before; 0 for the first."""
    limit: int = Field(default=100, ge=1, le=1000)
    """Events that are looked through; those of them that are outcomes are the page."""


class OutcomePage(Record):
    """Outcomes in the order they were reported."""

    items: tuple[Outcome, ...]
    next: int | None
    """Pass it as `after` for the next page, which may hold none; null: this is the last."""
    as_of: int
    """Position of the ledger that the page answers for."""


class ProducersInput(NamespacedInput):
    """Whose producers."""


class ProducerCredit(Record):
    """What showing a producer's chunks was worth, in points of the score.

    Mean score of the episodes in which its chunk stood first, less that of all reported ones; each
    is weighed by the inverse of its propensity.
    """

    tasks: int
    """Tasks that outcomes were reported of."""
    estimate: float
    low: float | None
    """End of the 95 % interval; null where outcomes are too few to bound it."""
    high: float | None


class Producer(Record):
    """What one agent gave to a namespace, and what became of it."""

    producer: str
    trajectories: int
    """Contributed, successful or not."""
    successes: int
    retrievals: int
    """In which a chunk of its stood first."""
    outcomes: int
    """Of those, reported."""
    success_rate: float | None
    """Of the reported episodes; null where there are none."""
    credit: ProducerCredit | None
    """Null where there are no outcomes."""


class ProducerList(Record):
    """All producers of a namespace, sorted by name."""

    producers: tuple[Producer, ...]
    as_of: int
    """Position of the ledger that the counts hold for."""
