"""What a configuration promises: who plays, and what belongs to a run's identity."""

import pytest
from pydantic import ValidationError

from collegium.config import digest, dump_yaml, load
from collegium.core import Agent
from collegium.llm import BudgetConfig
from collegium.runtime.jobs.configs import EvaluateAgentsConfig, ExecutionConfig, GamesConfig

AGENTS = (Agent(id="a", model="m"),)


def config(**changes):
    return EvaluateAgentsConfig(agents=AGENTS, memory="runs/memory", **changes)


def test_how_a_run_is_carried_out_is_no_part_of_its_identity():
    larger = ExecutionConfig(concurrency=2, budget=BudgetConfig(max_tokens=5))
    assert digest(config(execution=larger)) == digest(config())
    assert digest(config(seed=1)) != digest(config())


def test_a_resolved_configuration_reads_back(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(dump_yaml(config()))
    assert load(EvaluateAgentsConfig, [file]) == config()


def test_a_population_file_becomes_its_agents(tmp_path):
    file = tmp_path / "population.yaml"
    file.write_text("agents: [{id: x, model: m}, {id: y, model: m}]")
    resolved = EvaluateAgentsConfig(population=str(file), memory="m").resolved()
    assert [agent.id for agent in resolved.agents] == ["x", "y"]
    assert resolved.population is None
    assert resolved.resolved() is resolved


def test_exactly_one_of_population_and_agents():
    with pytest.raises(ValidationError, match="who plays"):
        EvaluateAgentsConfig(memory="m")
    with pytest.raises(ValidationError, match="who plays"):
        config(population="file.yaml")


def test_retrieval_needs_a_memory():
    with pytest.raises(ValidationError, match="retrieval need `memory`"):
        EvaluateAgentsConfig(agents=AGENTS)
    assert EvaluateAgentsConfig(agents=AGENTS, arms=("no_retrieval",)).memory is None


def test_a_mode_that_is_none_must_be_a_model():
    with pytest.raises(ValidationError, match="lambdamart are none of no_retrieval"):
        config(arms=["no_retrieval", "lambdamart"])
    assert config(arms=["lambdamart"], rankers="runs/rankers").arms[0].is_model


def test_arms_have_names_of_their_own():
    with pytest.raises(ValidationError, match="a name of its own"):
        config(arms=["retrieval", {"name": "retrieval", "scope": "cross_task"}])
    arms = config(arms=["retrieval", {"name": "cross", "mode": "retrieval", "scope": "cross_task"}])
    assert [arm.mode for arm in arms.arms] == ["retrieval"] * 2


def test_games_have_one_origin():
    with pytest.raises(ValidationError, match="two origins"):
        GamesConfig(root="games", generated={"count": 1}, splits=("generated_test",))
