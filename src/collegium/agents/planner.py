"""The RetrievalPlanner: does the agent need new guidance now, or does it keep what it has?

Kinds: `llm` asks the agent's own model with the paper's prompt (MATM §4.3, appendix T.1), `follow`
is a rule for small models, `always` and `never` are what they say. Whatever the planner decides,
guidance once retrieved stays in use until new guidance takes its place.
"""

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple, Protocol

from collegium.agents.guidance import GuidanceText
from collegium.agents.history import recent_history
from collegium.agents.protocol import View
from collegium.core import Agent, ConfigError, EngineError, Sampling, Usage
from collegium.llm.prompts import load_prompt
from collegium.llm.protocol import Engine, Message, Request

RETRIEVE_TAG = "[Retrieval]"

_ANSWER_TOKENS = 64
"""Room for a tag and some chatter around it."""


class PlannerKind(StrEnum):
    """How it is decided when to retrieve."""

    LLM = "llm"
    FOLLOW = "follow"
    ALWAYS = "always"
    NEVER = "never"


class PlannerDecision(NamedTuple):
    """Whether to retrieve now, and what deciding cost."""

    retrieve: bool
    usage: Usage = Usage()


class RetrievalPlanner(Protocol):
    """Decides at each step; holds no state."""

    kind: PlannerKind

    async def decide(self, view: View) -> PlannerDecision:
        """Decide for the state of `view`; the guidance in use is `view.held`."""
        ...


class LlmPlanner:
    """Asks the agent's model at temperature 0.

    Only an answer that contains `[Retrieval]` asks for one: any other answer, and an engine that
    fails, means none, as in the released code. A spent budget is no such failure and stops the run.
    """

    kind = PlannerKind.LLM

    def __init__(self, engine: Engine, agent: Agent) -> None:
        self._engine = engine
        self._agent = agent
        self._system = load_prompt("planner_system")
        self._user = load_prompt("planner_user")
        self._guidance = GuidanceText()

    async def decide(self, view: View) -> PlannerDecision:
        """Decide by one completion; raises BudgetExceededError."""
        try:
            completion = await self._engine.complete(self._request(view))
        except EngineError:
            return PlannerDecision(retrieve=False)
        return PlannerDecision(RETRIEVE_TAG in completion.text, completion.usage)

    def _request(self, view: View) -> Request:
        user = self._user.render(
            goal=view.task.goal,
            observation=view.observation,
            history=recent_history(view),
            guidance=self._guidance(view.held.guidance if view.held else None),
        )
        return Request(
            prompt=(
                Message(role="system", content=self._system.render()),
                Message(role="user", content=user),
            ),
            sampling=Sampling(temperature=0.0, max_tokens=_ANSWER_TOKENS),
            model=self._agent.model,
            adapter=self._agent.adapter,
        )


class Follows(Protocol):
    """Compares an action with a suggested one, which comes from an episode with another goal."""

    def __call__(self, action: str, suggested: str, *, goal: str, suggested_goal: str) -> bool:
        """Return whether `action`, done for `goal`, is what `suggested` amounts to."""
        ...


class FollowPlanner:
    """Keeps guidance as long as the agent follows it.

    Retrieves when there is no guidance, when the last action was not the one the guidance had for
    it, and when the guidance is used up.
    """

    kind = PlannerKind.FOLLOW

    def __init__(self, follows: Follows) -> None:
        """Take the environment's comparison of an action with the guidance's action."""
        self._follows = follows

    async def decide(self, view: View) -> PlannerDecision:
        """Decide by the rule; costs nothing."""
        return PlannerDecision(retrieve=not self._is_followed(view))

    def _is_followed(self, view: View) -> bool:
        if view.held is None:
            return False
        chunk = view.held.guidance.chunk
        taken = len(view.steps) - view.held.since
        if taken >= len(chunk.steps):
            return False
        return taken == 0 or self._follows(
            view.steps[-1].action,
            chunk.steps[taken - 1].action,
            goal=view.task.goal,
            suggested_goal=chunk.goal,
        )


class FixedPlanner:
    """Gives the same answer at every step, because it was chosen so."""

    def __init__(self, *, retrieve: bool) -> None:
        self.kind = PlannerKind.ALWAYS if retrieve else PlannerKind.NEVER
        self._retrieve = retrieve

    async def decide(self, view: View) -> PlannerDecision:
        """Return the fixed answer; costs nothing."""
        return PlannerDecision(self._retrieve)


def build_planner(
    kind: PlannerKind, *, engine: Engine, agent: Agent, follows: Follows
) -> RetrievalPlanner:
    """Return the planner that a configuration names.

    Args:
        kind: The planner's kind.
        engine: Serves the agent's model, which `llm` asks.
        agent: The agent that the planner works for.
        follows: The environment's comparison of actions, which `follow` uses.
    """
    match kind:
        case PlannerKind.LLM:
            return LlmPlanner(engine, agent)
        case PlannerKind.FOLLOW:
            return FollowPlanner(follows)
        case PlannerKind.ALWAYS | PlannerKind.NEVER:
            return FixedPlanner(retrieve=kind is PlannerKind.ALWAYS)


def retrieval_rate(decisions: Collection[bool]) -> float:
    """Return the share of steps at which the planner asked for a retrieval; 0 without steps."""
    return sum(decisions) / len(decisions) if decisions else 0.0


def check_planner_variety(
    decisions: Collection[bool], kind: PlannerKind, *, minimum: int = 20
) -> None:
    """Refuse a planner that does not plan: one that gave the same answer over a whole run.

    Args:
        decisions: Its answer at each step of the run (`Step.retrieved`).
        kind: The planner's kind; `always` and `never` were chosen and pass.
        minimum: With fewer answers than this nothing is concluded.

    Raises:
        ConfigError: The planner answered the same everywhere; the message says what to choose.
    """
    chosen = kind in (PlannerKind.ALWAYS, PlannerKind.NEVER)
    if chosen or len(decisions) < minimum or len(set(decisions)) > 1:
        return
    asked = any(decisions)
    same = PlannerKind.ALWAYS if asked else PlannerKind.NEVER
    raise ConfigError(
        f"the {kind} planner {'asked' if asked else 'never asked'} for a retrieval at "
        f"{'all' if asked else 'any of'} {len(decisions)} steps: it does not plan. "
        f"Choose planner {same!s} if that is meant, or another model or kind"
    )
