"""The summary of synthetic episodes against numbers worked out by hand."""

import pytest
from synthetic_runs import synthetic_episode, synthetic_episodes, synthetic_run

from collegium.core import (
    Chunk,
    ChunkStep,
    CorruptDataError,
    GuidanceRef,
    InvalidInputError,
    StopReason,
    Usage,
)
from collegium.evaluation import GrowthRow, LostAttempt, corpus_growth, read_episodes, summarise
from collegium.evaluation.published import published_references

GUIDANCE = GuidanceRef(chunk_id="c", producer="expert", rank=1, retrieval_score=0.2, text="t")


def _pair(task, base, treated, agent="agent-a", tokens=(100, 100)):
    """Two episodes of one task-run; an arm is given as its steps, negative where it failed."""
    for arm, steps, spent in zip(
        ("no_retrieval", "retrieval"), (base, treated), tokens, strict=True
    ):
        yield synthetic_episode(
            task=task,
            arm=arm,
            agent=agent,
            success=steps > 0,
            steps=abs(steps),
            usage=Usage(calls=1, prompt_tokens=spent - 10, completion_tokens=10),
            guidance=GUIDANCE if arm == "retrieval" else None,
        )


def _episodes():
    yield from _pair("t0", 5, 3)
    yield from _pair("t1", -30, 10, tokens=(400, 200))
    yield from _pair("t2", 8, -30)
    yield from _pair("t3", -30, -30)
    yield from _pair("t4", -30, 20)


def test_result_row_by_hand():
    base, treated = summarise(_episodes()).arms
    assert (base.arm, base.role, base.change) == ("no_retrieval", "baseline", None)
    assert (treated.arm, treated.role) == ("retrieval", "compared")
    assert (base.solved, treated.solved, treated.task_runs, treated.tasks) == (2, 3, 5, 5)
    assert base.success_rate.value == pytest.approx(0.4)
    assert treated.steps.value == pytest.approx((3 + 10 + 30 + 30 + 20) / 5)
    assert treated.steps_solved.value == pytest.approx(11)
    assert base.tokens_per_solved.value == pytest.approx(800 / 2)
    assert treated.tokens_per_solved.value == pytest.approx(600 / 3)
    assert treated.change.tokens_per_solved.value == pytest.approx(-0.5)
    assert treated.change.success_rate.value == pytest.approx(0.2)
    assert (treated.change.wins, treated.change.losses, treated.change.p_value) == (2, 1, 1.0)
    assert (treated.rpp.votes, treated.rpp.of, base.rpp.votes) == (2, 5, -2)
    assert treated.rpp.estimate.value == pytest.approx(0.4)
    assert treated.solved_by_step == (0,) * 3 + (1,) * 7 + (2,) * 10 + (3,)
    assert treated.retrieval_rate == pytest.approx((1 + 2 + 6 + 6 + 4) / 93)
    assert base.retrieval_rate == 0
    assert base.prefix_hit_rate == 0


def test_machinery_failure_leaves_the_pair_and_is_counted_apart():
    failed = synthetic_episode(
        task="t5", arm="retrieval", success=False, steps=2, stop=StopReason.ENGINE_ERROR
    )
    partner = synthetic_episode(task="t5", success=True)
    with_failure = summarise([*_episodes(), failed, partner])
    without = summarise(_episodes())
    assert with_failure.incomplete_task_runs == 1
    assert with_failure.compared[1].machinery_failures == 1
    assert with_failure.compared[1].stop_reasons[StopReason.ENGINE_ERROR] == 1
    assert with_failure.compared[1].success_rate == without.compared[1].success_rate
    assert with_failure.compared[0].solved == without.compared[0].solved


def test_lost_attempts_count_in_what_the_arm_spent_and_not_in_its_comparison():
    spent = Usage(calls=2, prompt_tokens=70, completion_tokens=5, cost=0.5)
    lost = [
        LostAttempt(arm="retrieval", usage=spent, stop_reason=StopReason.ENGINE_ERROR),
        LostAttempt(arm="retrieval", usage=spent),
    ]
    base, treated = summarise(_episodes(), lost=lost).arms
    _, before = summarise(_episodes()).arms
    assert treated.lost == spent + spent
    assert treated.usage == before.usage + treated.lost
    assert (treated.failed_attempts, treated.machinery_failures) == (1, 0)
    assert (base.failed_attempts, base.lost) == (0, Usage())
    assert treated.tokens_per_solved == before.tokens_per_solved


def test_retried_task_run_counts_its_agent_outcome():
    failed = synthetic_episode(task="t0", stop=StopReason.ENVIRONMENT_ERROR, success=False)
    summary = summarise([failed, *_episodes()])
    assert summary.baseline.task_runs == 5
    assert summary.incomplete_task_runs == 0


def test_two_agent_outcomes_of_one_task_run_are_refused():
    with pytest.raises(InvalidInputError, match="their own offset"):
        summarise([synthetic_episode(), synthetic_episode(stop=StopReason.PARSE_FAILURE)])


def test_arm_without_shared_task_runs_stands_alone():
    expert = [synthetic_episode(task=f"t{i}", arm="expert", agent="expert") for i in range(5)]
    summary = summarise([*expert, *_episodes()])
    assert [arm.role for arm in summary.arms] == ["baseline", "compared", "reference"]
    assert summary.arms[2].rpp is None
    assert summary.arms[2].change is None
    assert summary.arms[0].rpp.of == 5


def test_order_of_episodes_does_not_matter():
    episodes = list(synthetic_episodes())
    assert summarise(episodes[::-1]) == summarise(episodes)


def test_groups_add_up_to_the_whole():
    summary = summarise(synthetic_episodes())
    for groups in (summary.by_consumer, summary.by_task_type):
        assert sum(group.arms[1].solved for group in groups) == summary.compared[1].solved
        assert sum(group.arms[1].task_runs for group in groups) == summary.compared[1].task_runs
    assert [group.group for group in summary.by_consumer] == ["agent-a", "agent-b"]


def test_votes_of_all_arms_sum_to_zero():
    third = [e.model_copy(update={"arm": "svmrank"}) for e in _episodes() if e.arm == "retrieval"]
    summary = summarise([*_episodes(), *third])
    assert [arm.arm for arm in summary.arms] == ["no_retrieval", "retrieval", "svmrank"]
    assert sum(arm.rpp.votes for arm in summary.arms) == 0


def test_nothing_solved_gives_undefined_cost_and_an_interval_with_a_width():
    summary = summarise(synthetic_episode(task=f"t{i}", success=False) for i in range(20))
    arm = summary.baseline
    assert arm.tokens_per_solved.value is None
    assert arm.steps_solved.value is None
    assert arm.success_rate.value == 0
    assert arm.success_rate.high > 0.1
    assert arm.rpp is None
    assert arm.solved_by_step == ()


def test_arm_with_only_machinery_failures_is_not_scored_zero():
    failures = [
        synthetic_episode(task=f"t{i}", stop=StopReason.ENGINE_ERROR, success=False)
        for i in range(3)
    ]
    summary = summarise(failures)
    assert summary.baseline.success_rate.value is None
    assert summary.baseline.machinery_failures == 3


def test_no_episodes_is_an_error_that_says_so():
    with pytest.raises(InvalidInputError, match="no episodes"):
        summarise([])


def test_summary_survives_json():
    summary = summarise(synthetic_episodes(), references=published_references(["household"]))
    assert type(summary).model_validate_json(summary.model_dump_json()) == summary


def test_published_rows_are_the_papers():
    base, single, svm = published_references(["household"])
    assert (round(base.success_rate, 3), round(single.success_rate, 3)) == (0.471, 0.551)
    assert (round(base.rpp, 4), round(single.rpp, 4)) == (-0.1586, -0.0451)
    assert (base.steps, single.steps, svm.steps) == (11.77, 11.18, 10.35)
    assert published_references(["web"]) == ()


def test_a_row_of_another_version_is_named(tmp_path):
    run = synthetic_run(tmp_path / "run", episodes=[synthetic_episode()])
    run.append("episodes", [{"key": "odd", "arm": "retrieval"}])
    with pytest.raises(CorruptDataError, match=r"'odd' of table 'episodes'"):
        list(read_episodes(run))


def _chunk(partition, producer, trajectory):
    return Chunk(
        chunk_id=f"{partition}-{producer}-{trajectory}",
        trajectory_id=trajectory,
        producer=producer,
        environment="household",
        task_id="t",
        task_type="type",
        goal="g",
        state="s",
        context="",
        progress=0,
        total_steps=1,
        steps=(ChunkStep(action="look", observation="o"),),
        partition=partition,
        grammar="alfworld-0.4",
    )


def test_corpus_growth_is_cumulative_and_keeps_empty_partitions():
    chunks = [_chunk(0, "expert", "a"), _chunk(0, "expert", "a"), _chunk(2, "agent", "b")]
    rows = corpus_growth(chunks)
    assert [row.chunks for row in rows] == [2, 2, 3]
    assert [row.trajectories for row in rows] == [1, 1, 2]
    assert [row.producers for row in rows] == [1, 1, 2]
    assert rows[0].effective_producers == pytest.approx(1)
    assert corpus_growth([]) == ()


def test_producers_are_set_beside_their_share_of_retrievals():
    growth = GrowthRow(partition=0, trajectories=1, chunks_by_producer={"expert": 3, "agent-z": 1})
    summary = summarise(_episodes(), growth=[growth])
    shares = {share.producer: share for share in summary.producers}
    assert shares["expert"].corpus == 0.75
    assert shares["expert"].retrieved == 1
    assert shares["agent-z"].retrievals == 0
    assert summary.compared[1].effective_producers == pytest.approx(1)
