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
from collegium.evaluation import (
    FAILED_ATTEMPTS,
    GROWTH,
    UNFINISHED_ATTEMPTS,
    read_episodes,
    read_lost_attempts,
)
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
    failures = list(run.rows(FAILED_ATTEMPTS))
    assert len(failures) == 8
    assert {row["stop_reason"] for row in failures} == {"engine_error"}
    assert summary.arms[0].machinery_failures == 0
    assert summary.arms[0].failed_attempts == 8
    assert summary.arms[0].task_runs == 16


class FailsThenStops:
    """Fails the third call of the run, and ends the run at the sixth."""

    def __init__(self, engine):
        self.model, self._engine, self._calls, self.spent = engine.model, engine, 0, 0

    async def complete(self, request):
        self._calls += 1
        if self._calls == 3:
            raise EngineError("lost")
        if self._calls == 6:
            raise Interrupted
        completion = await self._engine.complete(request)
        self.spent += completion.usage.tokens
        return completion

    async def close(self):
        await self._engine.close()


def test_each_attempt_is_counted_once_however_it_ended(build, evaluate, host_of):
    """A failed attempt, and the next one in flight when the run stops: two rows, no token twice."""
    build()
    host = host_of(FailsThenStops)
    with pytest.raises(Interrupted):
        evaluate("arms=[no_retrieval]", "execution.concurrency=1", host=host)
    summary, run = evaluate("arms=[no_retrieval]")
    lost = list(read_lost_attempts(run))
    assert [attempt.stop_reason for attempt in lost] == ["engine_error", None]
    assert [attempt.usage.calls for attempt in lost] == [2, 2]
    assert sum(attempt.usage.tokens for attempt in lost) == host.started[0].spent
    (arm,) = summary.arms
    assert arm.lost == lost[0].usage + lost[1].usage
    assert arm.usage.tokens == arm.lost.tokens + sum(e.usage.tokens for e in read_episodes(run))


def test_a_damaged_game_costs_its_rows_not_the_run(build, evaluate, tmp_path):
    build()
    with pytest.raises(BudgetExceededError):
        evaluate("arms=[no_retrieval]", "execution.budget.max_tokens=0")
    game = next(Path(tmp_path, "evaluation", "games").rglob("game.tw-pddl"))
    game.write_bytes(game.read_bytes()[:500])
    summary, run = evaluate("arms=[no_retrieval]")
    failed = [e for e in read_episodes(run) if e.stop_reason.is_machinery]
    assert [e.stop_reason for e in failed] == ["environment_error"] * 2
    assert {e.trajectory.task.task_id.rsplit("/")[-1] for e in failed} == {game.parent.name}
    assert "game.tw-pddl" in failed[0].error
    assert summary.arms[0].machinery_failures == 2
    assert summary.arms[0].task_runs == 14


def test_an_engine_that_never_answers_costs_the_row_not_the_run(build, evaluate):
    build()
    summary, run = evaluate("arms=[no_retrieval,expert]", "engine.breaks=true")
    assert {e.stop_reason for e in read_episodes(run) if e.arm != "expert"} == {"engine_error"}
    assert len(list(run.rows(FAILED_ATTEMPTS))) == 16
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
    unfinished = [row["usage"]["prompt_tokens"] for row in run.rows(UNFINISHED_ATTEMPTS)]
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
