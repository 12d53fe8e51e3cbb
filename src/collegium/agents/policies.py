"""A language model that acts, with shared experience in its prompt if there is any.

At each step: ask the planner whether new guidance is needed, retrieve the best piece, render the
prompt with the guidance in use, complete it, and read the action out of the answer.
"""

from typing import NamedTuple

from collegium.agents.formats import Prompt, PromptFormat
from collegium.agents.guidance import guidance_ref
from collegium.agents.planner import RetrievalPlanner
from collegium.agents.protocol import Decision, GuidanceSource, HeldGuidance, View
from collegium.agents.queries import build_query
from collegium.core import Agent, Usage, integer_seed
from collegium.llm.protocol import Engine, Request


class Retrieval(NamedTuple):
    """Where guidance comes from, and who decides when it is looked for."""

    source: GuidanceSource
    planner: RetrievalPlanner
    grammar: str
    """The grammar of the games played; guidance of another is never asked for."""


class GuidedPolicy:
    """An `Agent` at work; without `retrieval` it is the paper's no-retrieval baseline."""

    def __init__(
        self,
        engine: Engine,
        agent: Agent,
        prompt_format: PromptFormat,
        *,
        seed: int,
        retrieval: Retrieval | None = None,
    ) -> None:
        """Compose the agent.

        Args:
            engine: Serves the agent's model.
            agent: Whose adapter and sampling are used, and who asks for guidance.
            prompt_format: Renders prompts and reads answers.
            seed: Seed of the sampling; unused at temperature 0.
            retrieval: Shared experience, if the agent may use it.
        """
        self._engine = engine
        self._agent = agent
        self._format = prompt_format
        self._seed = seed
        self._retrieval = retrieval

    async def act(self, view: View) -> Decision:
        """Choose the next action.

        Raises:
            EngineError: The engine failed.
            BudgetExceededError: The run's budget is spent.
        """
        plan = await self._plan(view)
        guidance = plan.held.guidance if plan.held else None
        prompt = self._format.render(view, guidance)
        completion = await self._engine.complete(self._request(prompt, view))
        return Decision(
            action=self._format.parse(completion.text, view),
            guidance=guidance_ref(guidance, prompt.guidance_text) if guidance else None,
            retrieved=plan.retrieved,
            usage=plan.usage + completion.usage,
            held=plan.held,
        )

    async def _plan(self, view: View) -> "_Plan":
        if self._retrieval is None:
            return _Plan(held=view.held)
        decision = await self._retrieval.planner.decide(view)
        if not decision.retrieve:
            return _Plan(held=view.held, usage=decision.usage)
        query = build_query(view, grammar=self._retrieval.grammar, consumer=self._agent.id)
        found = await self._retrieval.source.retrieve(query, k=1)
        held = HeldGuidance(found[0], since=len(view.steps)) if found else None
        return _Plan(held=held, retrieved=True, usage=decision.usage)

    def _request(self, prompt: Prompt, view: View) -> Request:
        return Request(
            prompt=prompt.text,
            sampling=self._agent.sampling,
            model=self._agent.model,
            adapter=self._agent.adapter,
            seed=self._step_seed(view),
            stop=prompt.stop,
            choices=prompt.choices,
            json_schema=prompt.json_schema,
        )

    def _step_seed(self, view: View) -> int | None:
        if self._agent.sampling.temperature == 0:
            return None
        stream = (self._agent.id, view.task.task_id, len(view.steps))
        # Engines take seeds of 32 bits, signed.
        return integer_seed(self._seed, "act", *stream) >> 33


class _Plan(NamedTuple):
    held: HeldGuidance | None
    retrieved: bool = False
    usage: Usage = Usage()
