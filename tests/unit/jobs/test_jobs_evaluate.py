"""The evaluation job from games to report, on a scripted engine."""

import json
from collections import Counter
from pathlib import Path

import pytest

from collegium.core import (
    BudgetExceededError,
    ConfigError,
    EngineError,
    InvalidInputError,
    NotFoundError,
)
from collegium.evaluation import GROWTH, read_episodes
from collegium.runtime.jobs.episodes import FAILURES, UNFINISHED
from collegium.runtime.jobs.evaluate_agents import check_offsets


def pairs(run, arm):
    return {
        (e.trajectory.task.task_id, e.trajectory.producer, e.offset)
        for e in read_episodes(run)
        if e.arm == arm
    }


def test_both_arms_play_the_same_pairs_and_the_report_is_there(build, evaluate):
    build()
    summary, run = evaluate()
    assert pairs(run, "no_retrieval") == pairs(run, "retrieval")
    assert len(pairs(run, "retrieval")) == 8 * 2
    assert len(pairs(run, "expert")) == 8
    tasks = Counter((task, offset) for task, _, offset in pairs(run, "retrieval"))
    assert set(tasks.values()) == {1}
    assert [arm.arm for arm in summary.arms] == ["no_retrieval", "retrieval", "expert"]
    assert summary.arms[2].role == "reference"
    assert run.exists("report.html")
    assert run.exists("summary.json")
    assert run.exists("tables/episodes.parquet")


def test_guidance_comes_from_the_memory_and_only_in_its_arm(build, evaluate):
    _, memory = build()
    _, run = evaluate()
    steps = {"no_retrieval": [], "retrieval": []}
    for episode in read_episodes(run):
        if episode.arm in steps:
            steps[episode.arm] += episode.trajectory.steps
    assert not any(step.guidance or step.retrieved for step in steps["no_retrieval"])
    assert all(step.guidance for step in steps["retrieval"])
    assert list(run.rows(GROWTH)) == list(memory.rows(GROWTH))


def test_a_second_start_plays_nothing_again(build, evaluate):
    build()
    first, run = evaluate()
    before = [e.key for e in read_episodes(run)]
    again, _ = evaluate()
    assert [e.key for e in read_episodes(run)] == before
    assert again == first


class Interrupted(Exception):
    """Stands for whatever ends a driver."""


class StopsAfter:
    """Lets 150 calls through."""

    def __init__(self, engine):
        self.model, self._engine, self._left = engine.model, engine, 150

    async def complete(self, request):
        self._left -= 1
        if self._left < 0:
            raise Interrupted
        return await self._engine.complete(request)

    async def close(self):
        await self._engine.close()


class FailsFirst:
    """Fails the first call of each transcript."""

    def __init__(self, engine):
        self.model, self._engine, self._seen = engine.model, engine, set()

    async def complete(self, request):
        if request.prompt.count("\n") == 2 and request.prompt not in self._seen:
            self._seen.add(request.prompt)
            raise EngineError("lost")
        return await self._engine.complete(request)

    async def close(self):
        await self._engine.close()


def test_an_interrupted_run_goes_on_and_counts_each_episode_once(build, evaluate, host_of):
    build()
    with pytest.raises(Interrupted):
        evaluate("execution.concurrency=3", host=host_of(StopsAfter))
    _, run = evaluate()
    keys = [e.key for e in read_episodes(run)]
    assert len(keys) == len(set(keys)) == 8 * 2 * 2 + 8
    files = Path(run.path, "rows", "episodes").iterdir()
    assert sum(len(f.read_text().splitlines()) for f in files) == len(keys)


def test_failures_of_the_machinery_are_tried_again_and_kept_apart(build, evaluate, host_of):
    build()
    summary, run = evaluate("arms=[no_retrieval]", host=host_of(FailsFirst))
    failures = list(run.rows(FAILURES))
    assert len(failures) == 8
    assert {row["stop_reason"] for row in failures} == {"engine_error"}
    assert summary.arms[0].machinery_failures == 0
    assert summary.arms[0].task_runs == 16


def test_an_engine_that_never_answers_costs_the_row_not_the_run(build, evaluate):
    build()
    summary, run = evaluate("arms=[no_retrieval,expert]", "engine.breaks=true")
    assert {e.stop_reason for e in read_episodes(run) if e.arm != "expert"} == {"engine_error"}
    assert len(list(run.rows(FAILURES))) == 16
    assert summary.arms[0].machinery_failures == 16
    assert summary.arms[0].task_runs == 0


def test_a_spent_budget_stops_the_run_and_a_larger_one_goes_on(build, evaluate):
    build()
    with pytest.raises(BudgetExceededError):
        evaluate("execution.budget.max_tokens=3000", "execution.concurrency=2")
    summary, run = evaluate("execution.budget.max_tokens=1000000")
    assert summary.arms[0].task_runs == 16
    assert len(run.starts()) == 2


def test_the_budget_counts_episodes_in_flight_too(build, evaluate):
    build()
    with pytest.raises(BudgetExceededError):
        evaluate("execution.budget.max_tokens=3000", "execution.concurrency=4")
    with pytest.raises(BudgetExceededError):
        _, run = evaluate("execution.budget.max_tokens=3000")
    _, run = evaluate()
    unfinished = [row["usage"]["prompt_tokens"] for row in run.rows(UNFINISHED)]
    assert 1 <= len([tokens for tokens in unfinished if tokens]) <= 4


def test_the_budget_counts_what_earlier_attempts_spent(build, evaluate):
    build()
    _, run = evaluate()
    spent = sum(e.usage.tokens for e in read_episodes(run))
    max(Path(run.path, "rows", "episodes").iterdir()).unlink()
    with pytest.raises(BudgetExceededError):
        evaluate(f"execution.budget.max_tokens={spent // 2}")


def test_a_planner_that_never_plans_fails_after_the_rows_are_stored(build, evaluate):
    build()
    with pytest.raises(ConfigError, match="does not plan"):
        evaluate("planner=llm")


def test_evaluation_keeps_to_the_memory_it_began_with(build, evaluate, tmp_path):
    build()
    _, run = evaluate()
    noted = json.loads(run.read_text("memory.json"))
    assert noted["partition"] == 2
    other, _ = build("seed=5", name="other")
    assert other.partitions == 2
    (tmp_path / "memory").rename(tmp_path / "first")
    (tmp_path / "other").rename(tmp_path / "memory")
    with pytest.raises(ConfigError, match="begun with the memory"):
        evaluate()


def test_missing_memory_says_what_to_run(evaluate):
    with pytest.raises(NotFoundError, match="build_memory"):
        evaluate()


def test_an_empty_memory_is_refused(build, evaluate):
    build("pre_population=[]", "partitions=0")
    with pytest.raises(InvalidInputError, match="no chunk"):
        evaluate()


def test_offsets_that_repeat_pairs_are_refused():
    check_offsets((0, 7, 14, 21, 28), 34)
    with pytest.raises(ConfigError, match="twice"):
        check_offsets((0, 7, 14), 7)
