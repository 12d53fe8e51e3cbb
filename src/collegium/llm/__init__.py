"""Language-model engines behind one protocol, their configurations, and what they may spend.

Backends, models and adapters are imported from their own modules, and only where they are used:
this package imports neither torch nor vLLM.
"""

from collegium.llm.budget import Budget, BudgetConfig, BudgetedEngine, Prices
from collegium.llm.configs import (
    EngineConfig,
    EngineSettings,
    HttpConfig,
    ReplayConfig,
    VllmConfig,
    engine_kinds,
)
from collegium.llm.protocol import (
    Completion,
    Engine,
    EngineLostError,
    Message,
    PromptTooLongError,
    Request,
)

__all__ = [
    "Budget",
    "BudgetConfig",
    "BudgetedEngine",
    "Completion",
    "Engine",
    "EngineConfig",
    "EngineLostError",
    "EngineSettings",
    "HttpConfig",
    "Message",
    "Prices",
    "PromptTooLongError",
    "ReplayConfig",
    "Request",
    "VllmConfig",
    "engine_kinds",
]
