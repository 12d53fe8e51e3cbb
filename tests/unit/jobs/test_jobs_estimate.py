"""What a dry run promises."""

from collegium.agents.planner import PlannerKind
from collegium.core import Agent
from collegium.llm import HttpConfig, VllmConfig
from collegium.runtime.jobs.configs import (
    BuildMemoryConfig,
    EvaluateAgentsConfig,
    GamesConfig,
    LabelUtilityConfig,
)
from collegium.runtime.jobs.estimate import (
    count_tasks,
    estimate_evaluation,
    estimate_labels,
    estimate_memory,
)

AGENTS = tuple(Agent(id=name, model="m", adapter=name) for name in "abc")


def test_official_splits_are_counted_without_the_games():
    assert count_tasks(GamesConfig(splits=("valid_seen", "valid_unseen"))) == 274
    assert count_tasks(GamesConfig(splits=("train",), limit=10)) == 10
    generated = GamesConfig(generated={"count": 4}, splits=("generated_train", "generated_test"))
    assert count_tasks(generated) == 8


def test_an_evaluation_plays_each_pair_in_each_arm():
    config = EvaluateAgentsConfig(agents=AGENTS, memory="m", offsets=(0, 1))
    estimate = estimate_evaluation(config)
    assert estimate.episodes == 274 * 2 * 2
    assert estimate.engine_starts == 3
    unguided = tuple(arm for arm in config.arms if arm.mode != "retrieval")
    plain = estimate_evaluation(config.model_copy(update={"arms": unguided}))
    assert plain.episodes == 274 * 2
    assert plain.prompt_tokens < estimate.prompt_tokens / 2


def test_a_planner_that_asks_its_model_costs_calls():
    config = EvaluateAgentsConfig(agents=AGENTS, memory="m")
    asking = config.model_copy(update={"planner": PlannerKind.LLM})
    assert estimate_evaluation(asking).calls > estimate_evaluation(config).calls


def with_engines(config, count):
    execution = config.execution.model_copy(update={"engines_side_by_side": count})
    return config.model_copy(update={"execution": execution})


def test_engines_that_do_not_fit_side_by_side_start_again_in_each_partition():
    config = BuildMemoryConfig(agents=AGENTS, engine=VllmConfig(), tasks=30, partitions=4)
    starts = [estimate_memory(with_engines(config, n)).engine_starts for n in (1, 2, 3)]
    assert starts == [3 + 3 * 2, 3 + 3 * 1, 3]
    remote = HttpConfig(model="m", base_urls=("http://host/v1",))
    assert estimate_memory(config.model_copy(update={"engine": remote})).engine_starts == 0
    assert estimate_memory(config.model_copy(update={"partitions": 0})).episodes == 0


def labelling(branching, tasks=355):
    return LabelUtilityConfig(
        agents=AGENTS,
        games=GamesConfig(splits=("train",)),
        tasks=tasks,
        branching={"points": 2, **branching},
    )


def test_labelling_plays_baselines_futures_and_controls():
    estimate = estimate_labels(labelling({}))
    assert estimate.episodes == 355 * (1 + 2 * (5 + 1))
    without = estimate_labels(labelling({"control": False}))
    assert without.episodes == 355 + 3550
    few = estimate_labels(labelling({"ranks": (1,)}))
    assert few.episodes == 355 * (1 + 2 * 2)
    assert few.calls < estimate.calls / 2
    assert estimate_labels(labelling({"repeats": 3})).episodes == 355 * (1 + 2 * 6 * 3)


def test_a_branch_costs_less_than_a_whole_episode_and_its_controls_no_guidance():
    config = labelling({"ranks": (1,)}, tasks=100)
    memory = estimate_memory(config)
    labels = estimate_labels(config)
    assert memory.calls < labels.calls < memory.calls * labels.episodes / memory.episodes
    alike = estimate_labels(labelling({"ranks": (1, 2), "control": False}, tasks=100))
    assert alike.calls == labels.calls
    assert alike.prompt_tokens > labels.prompt_tokens


def test_nothing_is_branched_without_partitions():
    assert estimate_labels(labelling({}).model_copy(update={"partitions": 0})).episodes == 0
