"""The search over hyper-parameters, its trials as tasks on Ray.

Each trial that is done has a row, so a search that was stopped goes on with the others.
"""

from collections.abc import Sequence
from typing import Any

from collegium.ranking.configs import AnyRankerConfig
from collegium.ranking.groups import TrainingSet
from collegium.ranking.search import Trial, best_trial, draw_settings, try_settings
from collegium.runtime.jobs.reranker_configs import RankerPlan, TrainRerankersConfig
from collegium.store import RunDirectory

TRIALS = "trials"
"""Table with one `Trial` a setting."""


def find_settings(
    config: TrainRerankersConfig, plan: RankerPlan, data: TrainingSet, run: RunDirectory
) -> AnyRankerConfig:
    """Return the best of the drawn settings on the training questions, or what is configured.

    Ray is running, if there is a search.
    """
    if config.search is None:
        return plan.ranker
    settings = draw_settings(plan.ranker, config.search.trials, config.seed)
    names = [f"{plan.label}/{number}" for number in range(len(settings))]
    done = run.keys(TRIALS)
    left = [i for i, name in enumerate(names) if name not in done]
    if left:
        _try_all(config, plan, [(names[i], settings[i]) for i in left], data, run)
    trials = {row["key"]: Trial.model_validate(row) for row in run.rows(TRIALS)}
    best = best_trial([trials[name] for name in names])
    return settings[names.index(best.key)]


def _try_all(
    config: TrainRerankersConfig,
    plan: RankerPlan,
    left: Sequence[tuple[str, AnyRankerConfig]],
    data: TrainingSet,
    run: RunDirectory,
) -> None:
    import ray

    assert config.search is not None
    shared = ray.put(data)
    task = ray.remote(try_settings)
    waiting: dict[Any, tuple[str, AnyRankerConfig]] = {
        task.remote(one, shared, config.search.folds, config.seed): (name, one)
        for name, one in left
    }
    while waiting:
        [ready], _ = ray.wait(list(waiting))
        name, settings = waiting.pop(ready)
        trial = Trial(
            key=name,
            ranker=plan.label,
            settings=settings.model_dump(mode="json"),
            ndcg=ray.get(ready),
        )
        run.append(TRIALS, [trial.model_dump(mode="json")])
