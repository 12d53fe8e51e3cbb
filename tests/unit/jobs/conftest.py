"""Jobs on a scripted engine in this process: no Ray, no model."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from collegium.config import load
from collegium.core import SystemClock
from collegium.runtime.jobs.build_memory import build_memory
from collegium.runtime.jobs.configs import (
    BuildMemoryConfig,
    EvaluateAgentsConfig,
    LabelUtilityConfig,
)
from collegium.runtime.jobs.engines import EnginePool, side_by_side
from collegium.runtime.jobs.episodes import JobContext
from collegium.runtime.jobs.evaluate_agents import evaluate_agents
from collegium.runtime.jobs.label_utility import label_utility
from collegium.runtime.jobs.progress import Silent
from collegium.store import RunDirectory

CI = Path(__file__).resolve().parents[3] / "configs" / "ci"


class Host:
    """Starts engines in this process and keeps them."""

    def __init__(self, wrap=lambda engine: engine):
        self.started = []
        self._wrap = wrap

    async def start(self, settings):
        self.started.append(self._wrap(settings.build()))
        return self.started[-1]


@pytest.fixture
def host_of():
    """Gives a host whose engines are wrapped."""
    return Host


@pytest.fixture
def in_process():
    """Gives a pipeline whose engines live in this process."""

    def local(job, work):
        async def run(config, directory, progress):
            engines = EnginePool(Host().start, side_by_side(config))
            return await work(config, JobContext(directory, engines, progress, SystemClock()))

        return replace(job, run=run)

    return local


@pytest.fixture
def new_context(tmp_path):
    def make(config, name, host=None):
        run = RunDirectory(str(tmp_path / name)).open(config)
        engines = EnginePool((host or Host()).start, side_by_side(config))
        return JobContext(run, engines, Silent(), SystemClock())

    return make


@pytest.fixture
def build(new_context):
    """Run build_memory on the CI configuration; gives what it left and its run directory."""

    def run(*overrides, name="memory", host=None):
        config = load(BuildMemoryConfig, [CI / "build_memory.yaml"], overrides)
        context = new_context(config, name, host)
        return asyncio.run(build_memory(config, context)), context.run

    return run


@pytest.fixture
def label(new_context):
    """Run label_utility on the CI configuration; gives what it left and its run directory."""

    def run(*overrides, name="labels", host=None):
        config = load(LabelUtilityConfig, [CI / "label_utility.yaml"], overrides).resolved()
        context = new_context(config, name, host)
        return asyncio.run(label_utility(config, context)), context.run

    return run


@pytest.fixture
def evaluate(new_context, tmp_path):
    """Run evaluate_agents on the CI configuration and the memory in `memory`."""

    def run(*overrides, name="evaluation", host=None):
        memory = f"memory={tmp_path / 'memory'}"
        config = load(EvaluateAgentsConfig, [CI / "evaluate_agents.yaml"], [memory, *overrides])
        context = new_context(config, name, host)
        return asyncio.run(evaluate_agents(config, context)), context.run

    return run
