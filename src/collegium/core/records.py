"""The records that cross package borders or are stored: frozen, validated, versioned.

Time order inside a trajectory: `initial_observation`, then for each step the action and the
observation that answered it. The observation *before* step i is therefore the answer of step
i - 1 (`Trajectory.observation_before`). Scores are in [0, 1].
"""

from enum import StrEnum
from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from collegium.core.ids import content_id


class Record(BaseModel):
    """Base of all records: immutable, and unknown fields are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class StopReason(StrEnum):
    """Why an episode ended. Machinery failures are never scored as the agent's."""

    SOLVED = "solved"
    """The environment reported success."""
    STEP_LIMIT = "step_limit"
    """The agent used all its steps."""
    PARSE_FAILURE = "parse_failure"
    """The agent's output held no action, too many times in a row."""
    CONTEXT_LIMIT = "context_limit"
    """The agent's prompt grew longer than its model can read."""
    AGENT_STOPPED = "agent_stopped"
    """The agent declared itself finished without success."""
    ENVIRONMENT_ERROR = "environment_error"
    """The environment failed by itself."""
    ENGINE_ERROR = "engine_error"
    """The language-model engine failed, hung or died."""
    GRADER_TIMEOUT = "grader_timeout"
    """The grader did not answer in time."""
    BUDGET = "budget"
    """The run's token or cost budget was spent."""

    @property
    def is_machinery(self) -> bool:
        """Whether the machinery, and not the agent, ended the episode."""
        return self in _MACHINERY


_MACHINERY = frozenset(
    {
        StopReason.ENVIRONMENT_ERROR,
        StopReason.ENGINE_ERROR,
        StopReason.GRADER_TIMEOUT,
        StopReason.BUDGET,
    }
)


class Usage(Record):
    """Tokens and money spent; `cached_tokens` is the part of the prompt served from a cache."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """US dollars, from the agent's prices; 0 for local models."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost=self.cost + other.cost,
        )

    @property
    def tokens(self) -> int:
        """All prompt and completion tokens (formulas §2.10)."""
        return self.prompt_tokens + self.completion_tokens


class Versions(Record):
    """What an episode was played on. Rows of different grammars are never mixed."""

    game_data: str
    """Digest of the game file, or the generator's version and seed."""
    grammar: str
    """Name of the command grammar, e.g. `alfworld-0.4` (`move X to Y`)."""
    engine: str
    """Name and version of the environment engine."""


class Sampling(Record):
    """How a model decodes."""

    temperature: float = Field(default=0.0, ge=0.0)
    top_p: float = Field(default=1.0, gt=0.0, le=1.0)
    max_tokens: int = Field(default=32, gt=0)


class Agent(Record):
    """An identity that acts: model + adapter + sampling (a row of a population file)."""

    id: str
    model: str
    """A Hugging Face id, a local path, or a built-in name such as `smollm2-135m-instruct`."""
    adapter: str | None = None
    """Name of a packaged LoRA adapter, or a path to one."""
    sampling: Sampling = Sampling()
    provider: str = "local"
    clone_group: str | None = None
    """Agents of one clone group are copies and count as one source of evidence."""
    benchmarks: dict[str, float] = {}
    """Benchmark name -> score: the twelve `source_*` columns, or measured success per task type."""
    price_prompt: float = Field(default=0.0, ge=0.0)
    """US dollars per million prompt tokens."""
    price_completion: float = Field(default=0.0, ge=0.0)
    """US dollars per million completion tokens."""


class Task(Record):
    """One thing to solve."""

    environment: str
    """Registered environment name, e.g. `household`."""
    task_id: str
    """Unique in its environment, e.g. `<task>/<trial>`."""
    task_type: str
    split: str
    goal: str = ""
    source: Literal["official", "generated"] = "official"


class GuidanceRef(Record):
    """What was shown at a step: which chunk, at which rank of the retrieved list."""

    chunk_id: str
    producer: str
    rank: int = Field(ge=1)
    retrieval_score: float
    """The index's distance; smaller is closer."""
    text: str = ""
    """The guidance exactly as it stood in the prompt."""


class Step(Record):
    """One action and the environment's answer to it."""

    action: str
    observation: str
    score: float = 0.0
    state_hash: str = ""
    """Hash of observation and admissible actions after the action; replays are checked on it."""
    guidance: GuidanceRef | None = None
    retrieved: bool = False
    """Whether the planner asked for a new retrieval at this step."""
    parse_failed: bool = False
    """The agent's answer held no action, so `action` is the fallback."""
    usage: Usage = Usage()


class Trajectory(Record):
    """The steps of one episode, as stored and shared; identity is its content."""

    schema_version: Literal[1] = 1
    task: Task
    producer: str
    """Id of the agent that acted."""
    initial_observation: str
    steps: tuple[Step, ...]
    success: bool
    score: float
    versions: Versions

    @cached_property
    def trajectory_id(self) -> str:
        """Content hash of who did what where: accounting fields do not count."""
        return content_id(
            {
                "task": self.task.model_dump(mode="json"),
                "producer": self.producer,
                "initial_observation": self.initial_observation,
                "steps": [[s.action, s.observation, s.score] for s in self.steps],
                "versions": self.versions.model_dump(mode="json"),
            }
        )

    def observation_before(self, index: int) -> str:
        """Return the observation the agent saw when it chose step `index` (0-based)."""
        return self.steps[index - 1].observation if index else self.initial_observation


class Episode(Record):
    """One attempt of one agent at one task under one arm of a run; one row of a run directory."""

    schema_version: Literal[1] = 1
    key: str
    """Deterministic id of the unit of work: at-least-once execution counts once."""
    arm: str
    """Which method was used, e.g. `no_retrieval`, `retrieval`."""
    partition: int = 0
    offset: int = 0
    seed: int = 0
    trajectory: Trajectory
    stop_reason: StopReason
    error: str = ""
    """For machinery failures and `context_limit`: what happened."""
    usage: Usage = Usage()
    """Everything the episode cost, planner and retrieval calls included."""
    seconds: float = 0.0


class ChunkStep(Record):
    """A step as guidance: the action and the environment's answer."""

    action: str
    observation: str
    score: float = 0.0


class Chunk(Record):
    """Up to five consecutive steps of a successful trajectory, and the key that finds them.

    The value is steps i .. min(i + W, H) - 1; the key describes the state before step i
    (formulas §2.1).
    """

    schema_version: Literal[1] = 1
    chunk_id: str
    trajectory_id: str
    producer: str
    environment: str
    task_id: str
    task_type: str
    goal: str
    state: str
    context: str
    progress: int = Field(ge=0)
    """Index of the first step of the value (0-based) = steps taken before it."""
    total_steps: int
    steps: tuple[ChunkStep, ...]
    partition: int = 0
    """p of the D_p that first held the chunk; 0 is the pre-population."""
    grammar: str
    success: bool = True

    @property
    def key_text(self) -> str:
        """The text that is embedded (formulas §2.1)."""
        return key_text(self.goal, self.state, self.context, self.progress)


class Query(Record):
    """The live state of a consumer, in the same form as a chunk's key."""

    environment: str
    task_id: str
    task_type: str
    goal: str
    state: str
    context: str
    progress: int = Field(ge=0)
    grammar: str
    consumer: str = ""

    @property
    def key_text(self) -> str:
        """The text that is embedded (formulas §2.1)."""
        return key_text(self.goal, self.state, self.context, self.progress)


class Guidance(Record):
    """A retrieved chunk with its place in the list."""

    chunk: Chunk
    rank: int = Field(ge=1)
    retrieval_score: float
    """Squared L2 distance of the key embeddings; smaller is closer."""


def key_text(goal: str, state: str, context: str, progress: int) -> str:
    """Return the text that both chunk keys and queries embed (formulas §2.1)."""
    return (
        f"goal: {goal} | state: {state} | context: {context} | progress: step_till_now: {progress}"
    )
