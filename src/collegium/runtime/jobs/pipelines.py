"""The pipelines that play: what their shells in `pipelines/` run."""

from collegium.evaluation.rendering import show_summary
from collegium.runtime.jobs.build_memory import build_memory
from collegium.runtime.jobs.command import Job
from collegium.runtime.jobs.configs import BuildMemoryConfig, EvaluateAgentsConfig
from collegium.runtime.jobs.estimate import estimate_evaluation, estimate_memory
from collegium.runtime.jobs.evaluate_agents import evaluate_agents
from collegium.runtime.jobs.hosting import hosted_engines
from collegium.runtime.jobs.showing import show_memory

BUILD_MEMORY = Job(
    name="build_memory",
    config=BuildMemoryConfig,
    run=build_memory,
    estimate=estimate_memory,
    show=show_memory,
    engines=hosted_engines,
)

EVALUATE_AGENTS = Job(
    name="evaluate_agents",
    config=EvaluateAgentsConfig,
    run=evaluate_agents,
    estimate=estimate_evaluation,
    show=show_summary,
    engines=hosted_engines,
)
