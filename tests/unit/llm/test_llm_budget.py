"""Money is counted by each agent's prices, and the call after the last cent is refused."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collegium.core import Agent, BudgetExceededError, Usage
from collegium.llm import Budget, BudgetConfig, BudgetedEngine, Prices, Request
from collegium.llm.scripted import ScriptedEngine

REQUEST = Request(prompt="one two three")  # 3 tokens in, 2 out


def engine(budget: Budget, prices: Prices | None = None) -> BudgetedEngine:
    return BudgetedEngine(ScriptedEngine(lambda _request: "four five"), budget, prices)


def test_no_limit_never_refuses() -> None:
    budget = Budget(BudgetConfig())
    asyncio.run(engine(budget).complete(REQUEST))
    assert budget.spent == Usage(calls=1, prompt_tokens=3, completion_tokens=2)


@given(limit=st.integers(1, 60))
def test_calls_start_only_below_the_token_limit(limit: int) -> None:
    budget = Budget(BudgetConfig(max_tokens=limit))
    for _ in range(-(-limit // 5)):
        asyncio.run(engine(budget).complete(REQUEST))
    with pytest.raises(BudgetExceededError, match="max_tokens"):
        asyncio.run(engine(budget).complete(REQUEST))


def test_agents_of_different_prices_share_one_purse() -> None:
    budget = Budget(BudgetConfig(max_cost=1e-4))
    cheap = Prices.of(Agent(id="a", model="m", price_prompt=1.0, price_completion=2.0))
    dear = Prices(prompt=100.0, completion=0.0)
    assert asyncio.run(engine(budget, cheap).complete(REQUEST)).usage.cost == pytest.approx(7e-6)
    asyncio.run(engine(budget, dear).complete(REQUEST))
    assert budget.spent.cost == pytest.approx(3.07e-4)
    with pytest.raises(BudgetExceededError, match="max_cost"):
        asyncio.run(engine(budget, cheap).complete(REQUEST))


def test_resumed_run_starts_from_what_it_had_spent() -> None:
    spent = Usage(calls=9, prompt_tokens=50)
    with pytest.raises(BudgetExceededError, match="resume it with a larger one"):
        asyncio.run(engine(Budget(BudgetConfig(max_tokens=50), spent)).complete(REQUEST))
    asyncio.run(engine(Budget(BudgetConfig(max_tokens=51), spent)).complete(REQUEST))
