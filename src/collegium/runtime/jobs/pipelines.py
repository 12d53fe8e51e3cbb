"""The pipelines: what their shells in `pipelines/` run."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from collegium.core import SystemClock
from collegium.evaluation.rendering import show_summary
from collegium.runtime.jobs.analyse_evaluations import (
    AnalyseEvaluationsConfig,
    analyse_evaluations,
    estimate_analysis,
)
from collegium.runtime.jobs.build_memory import build_memory
from collegium.runtime.jobs.command import Job
from collegium.runtime.jobs.configs import (
    BuildMemoryConfig,
    EvaluateAgentsConfig,
    LabelUtilityConfig,
    PlayingConfig,
)
from collegium.runtime.jobs.episodes import JobContext
from collegium.runtime.jobs.estimate import (
    estimate_evaluation,
    estimate_labels,
    estimate_memory,
    estimate_training,
)
from collegium.runtime.jobs.evaluate_agents import evaluate_agents
from collegium.runtime.jobs.hosting import hosted_engines
from collegium.runtime.jobs.label_utility import label_utility
from collegium.runtime.jobs.progress import ConsoleProgress
from collegium.runtime.jobs.reranker_configs import TrainRerankersConfig, estimate_rankers
from collegium.runtime.jobs.showing import (
    show_adapters,
    show_labels,
    show_memory,
    show_rankers,
    show_study,
)
from collegium.runtime.jobs.train_agents import TrainAgentsConfig, train_agents
from collegium.runtime.jobs.train_rerankers import train_rerankers
from collegium.store import RunDirectory

C = TypeVar("C", bound=PlayingConfig)
R = TypeVar("R")


def _with_engines(
    job: Callable[[C, JobContext], Awaitable[R]],
) -> Callable[[C, RunDirectory, ConsoleProgress], Awaitable[R]]:
    """Give a job that plays its engines."""

    async def run(config: C, run: RunDirectory, progress: ConsoleProgress) -> R:
        async with hosted_engines(config) as engines:
            return await job(config, JobContext(run, engines, progress, SystemClock()))

    return run


BUILD_MEMORY = Job(
    name="build_memory",
    config=BuildMemoryConfig,
    run=_with_engines(build_memory),
    estimate=estimate_memory,
    show=show_memory,
)

LABEL_UTILITY = Job(
    name="label_utility",
    config=LabelUtilityConfig,
    run=_with_engines(label_utility),
    estimate=estimate_labels,
    show=show_labels,
)

EVALUATE_AGENTS = Job(
    name="evaluate_agents",
    config=EvaluateAgentsConfig,
    run=_with_engines(evaluate_agents),
    estimate=estimate_evaluation,
    show=show_summary,
)

TRAIN_AGENTS = Job(
    name="train_agents",
    config=TrainAgentsConfig,
    run=train_agents,
    estimate=estimate_training,
    show=show_adapters,
)

TRAIN_RERANKERS = Job(
    name="train_rerankers",
    config=TrainRerankersConfig,
    run=train_rerankers,
    estimate=estimate_rankers,
    show=show_rankers,
)

ANALYSE_EVALUATIONS = Job(
    name="analyse_evaluations",
    config=AnalyseEvaluationsConfig,
    run=analyse_evaluations,
    estimate=estimate_analysis,
    show=show_study,
)
