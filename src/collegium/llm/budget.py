"""What a run may spend on models, over all its agents and engines.

A call is refused, before it starts, once the tokens or the money are spent. Calls already in
flight finish, so a run may end above its budget by what those cost. A resumed run gives what its
stored rows cost as `spent`.
"""

from collegium.config import Config
from collegium.core import Agent, BudgetExceededError, Usage
from collegium.llm.protocol import Completion, Engine, Request

_PER_MILLION = 1e-6


class BudgetConfig(Config):
    """Limits of one run; None means no limit."""

    max_tokens: int | None = None
    """Prompt and completion tokens."""
    max_cost: float | None = None
    """US dollars, by the agents' prices."""


class Budget:
    """Counts what is spent; shared by all engines of a run, within one event loop."""

    def __init__(self, limits: BudgetConfig, spent: Usage | None = None) -> None:
        self.limits = limits
        self.spent = spent or Usage()

    def check(self) -> None:
        """Raise BudgetExceededError if a limit is reached."""
        _refuse("max_tokens", self.spent.tokens, self.limits.max_tokens)
        _refuse("max_cost", self.spent.cost, self.limits.max_cost)

    def add(self, usage: Usage) -> None:
        """Count what a call cost."""
        self.spent += usage


class Prices(Config):
    """US dollars per million tokens."""

    prompt: float = 0.0
    """Prompt tokens, cached ones included."""
    completion: float = 0.0
    """Generated tokens."""

    @classmethod
    def of(cls, agent: Agent) -> "Prices":
        """Return the prices of an agent."""
        return cls(prompt=agent.price_prompt, completion=agent.price_completion)

    def priced(self, usage: Usage) -> Usage:
        """Return `usage` with its cost added to what it already cost."""
        tokens = self.prompt * usage.prompt_tokens + self.completion * usage.completion_tokens
        return usage.model_copy(update={"cost": usage.cost + tokens * _PER_MILLION})


class BudgetedEngine:
    """An engine that spends from a budget, at one agent's prices."""

    def __init__(self, inner: Engine, budget: Budget, prices: Prices | None = None) -> None:
        self.model = inner.model
        self._inner = inner
        self._budget = budget
        self._prices = prices or Prices()

    async def complete(self, request: Request) -> Completion:
        """Complete and count; raises BudgetExceededError instead if the budget is spent."""
        self._budget.check()
        completion = await self._inner.complete(request)
        priced = completion.model_copy(update={"usage": self._prices.priced(completion.usage)})
        self._budget.add(priced.usage)
        return priced

    async def close(self) -> None:
        """Close the inner engine, which other agents may share."""
        await self._inner.close()


def _refuse(name: str, spent: float, limit: float | None) -> None:
    if limit is not None and spent >= limit:
        raise BudgetExceededError(
            f"the run's {name} of {limit:g} is spent ({spent:g}): resume it with a larger one"
        )
