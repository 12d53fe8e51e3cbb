"""The gate: its three verdicts, what it refuses, and that they reach the right cards only."""

import math
from pathlib import Path

import pytest
from synthetic_runs import synthetic_episode, synthetic_run

from collegium.cli import main
from collegium.core import InvalidInputError, StopReason
from collegium.evaluation import gate
from collegium.evaluation.gate import Judged, decide, judge, judge_models, write_verdicts
from collegium.evaluation.outcomes import outcome_of
from collegium.evaluation.report import build
from collegium.evaluation.tables import gate_table, tables
from collegium.statistics import Interval


@pytest.mark.parametrize(
    ("interval", "delta_steps", "verdict"),
    [
        ((0.03, -0.02, 0.08), 1.0, "pass"),  # no loss of success
        ((0.0, -0.01, 0.01), 1.0, "pass"),
        ((-0.005, -0.02, 0.01), -0.3, "pass"),  # a little less success, but faster
        ((-0.005, -0.02, 0.01), 0.3, "insufficient"),  # loses in both
        ((0.03, -0.021, 0.08), -1.0, "insufficient"),  # may well do harm
        ((-0.01, -0.015, -0.005), -1.0, "fail"),  # surely does, however little
        ((-0.2, -0.3, -0.1), 0.0, "fail"),
        ((0.5, -1.0, 1.0), -1.0, "insufficient"),
    ],
)
def test_the_rule(interval, delta_steps, verdict):
    assert decide(Interval(*interval), delta_steps) == verdict


def outcomes(arm, solved, *, tasks=60, steps=5, **changes):
    """Return one outcome a task; those of the first `solved` tasks are successes."""
    return [
        outcome_of(
            synthetic_episode(
                task=f"t{n:03d}", arm=arm, success=n < solved, steps=steps if n < solved else 30
            )
        )
        for n in range(tasks)
    ]


def test_a_ranker_that_helps_passes():
    verdict = judge(outcomes("retrieval", 20) + outcomes("svmrank", 40), "svmrank", run="d")
    assert verdict.status == "pass"
    assert verdict.delta_success == pytest.approx(20 / 60)
    assert 0 < verdict.low < verdict.delta_success < verdict.high
    assert verdict.delta_steps == pytest.approx((5 - 30) * 20 / 60)
    assert (verdict.pairs, verdict.baseline, verdict.run) == (60, "retrieval", "d")


def test_a_ranker_that_harms_fails():
    verdict = judge(outcomes("retrieval", 40) + outcomes("svmrank", 20), "svmrank", run="d")
    assert verdict.status == "fail"


def test_few_episodes_are_insufficient():
    few = outcomes("retrieval", 2, tasks=6) + outcomes("svmrank", 3, tasks=6)
    assert judge(few, "svmrank", run="d").status == "insufficient"
    one = outcomes("retrieval", 0, tasks=1) + outcomes("svmrank", 1, tasks=1)
    verdict = judge(one, "svmrank", run="d")
    assert verdict.status == "insufficient"
    assert -1 <= verdict.low < verdict.high <= 1


def test_wins_alone_do_not_pass_while_they_are_few():
    """The bootstrap alone would say 0 to +10: it never draws a loss."""
    few = outcomes("retrieval", 20) + outcomes("ffn", 23)
    assert judge(few, "ffn", run="d").status == "insufficient"
    more = outcomes("retrieval", 20) + outcomes("ffn", 26)
    assert judge(more, "ffn", run="d").status == "pass"


def test_no_difference_on_many_games_passes_and_on_few_does_not():
    """Wilson's bound over the tasks stands in where no pair disagrees."""
    many = outcomes("retrieval", 9, tasks=300) + outcomes("ffn", 9, tasks=300)
    few = outcomes("retrieval", 9, tasks=30) + outcomes("ffn", 9, tasks=30)
    assert judge(many, "ffn", run="d").status == "pass"
    assert judge(few, "ffn", run="d").status == "insufficient"


def test_only_pairs_that_both_played_to_an_end_count():
    broken = outcome_of(
        synthetic_episode(task="t000", arm="ffn", success=False, stop=StopReason.ENGINE_ERROR)
    )
    ranked = outcomes("ffn", 20)[1:]
    verdict = judge([*outcomes("retrieval", 20), *ranked, broken], "ffn", run="d")
    assert verdict.pairs == 59
    other = outcome_of(synthetic_episode(task="other", arm="ffn", success=True))
    verdict = judge([*outcomes("retrieval", 20), other], "ffn", run="d")
    assert (verdict.status, verdict.pairs, verdict.delta_steps) == ("insufficient", 0, None)
    assert math.isfinite(verdict.low)


def test_training_games_are_no_evidence():
    played = [
        synthetic_episode(task=f"t{n}", arm=arm) for n in range(3) for arm in ("retrieval", "ffn")
    ]
    on_train = [
        e.model_copy(
            update={
                "trajectory": e.trajectory.model_copy(
                    update={"task": e.trajectory.task.model_copy(update={"split": "train"})}
                )
            }
        )
        for e in played
    ]
    with pytest.raises(InvalidInputError, match="held-out"):
        judge(map(outcome_of, on_train), "ffn", run="d")


def test_an_arm_that_was_not_played_is_named():
    with pytest.raises(InvalidInputError, match="no episode of arm 'ffn'"):
        judge(outcomes("retrieval", 3), "ffn", run="d")


def note(name, *, model=None, scope="full", mode=None):
    return {
        "key": name,
        "mode": mode or name,
        "scope": scope,
        "fraction": 1.0,
        "folder": f"rankers/models/{name}" if model else None,
        "model_id": model,
    }


def run_with(path, *arms, notes):
    played = [
        synthetic_episode(task=f"t{n:03d}", arm=arm, success=n < solved)
        for arm, solved in arms
        for n in range(40)
    ]
    run = synthetic_run(path, played)
    run.append("arms", notes)
    return run


def test_models_are_judged_over_all_runs_given(tmp_path):
    first = run_with(
        tmp_path / "a", ("retrieval", 10), ("svmrank", 30),
        notes=[note("retrieval"), note("svmrank", model="m1")],
    )  # fmt: skip
    second = run_with(
        tmp_path / "b", ("ffn_null", 9), ("elsewhere", 3),
        notes=[note("ffn_null", model="m2"), note("elsewhere", model="m1", scope="cross_task")],
    )  # fmt: skip
    judged = judge_models([first, second])
    assert [(one.name, one.verdict.status) for one in judged] == [
        ("svmrank", "pass"),
        ("ffn_null", "insufficient"),
    ]
    digests = [run.read_text("digest.txt") for run in (first, second)]
    assert judged[0].verdict.run == "+".join(digests)
    table = gate_table(judged)
    assert [row[1].text for row in table.rows] == ["pass", "insufficient"]


def test_without_models_or_similarity_nothing_is_judged(tmp_path, capsys):
    alone = run_with(tmp_path / "a", ("ffn", 3), notes=[note("ffn", model="m")])
    plain = run_with(tmp_path / "b", ("retrieval", 3), notes=[note("retrieval")])
    begun = run_with(
        tmp_path / "c", ("retrieval", 3), notes=[note("retrieval"), note("ffn", model="m")]
    )
    assert judge_models([alone]) == judge_models([plain]) == judge_models([begun]) == ()
    assert main(["report", "gate", plain.path]) == 2
    assert "no trained ranker beside" in capsys.readouterr().err


def test_the_report_of_a_run_has_the_verdicts(tmp_path):
    run = run_with(
        tmp_path / "a", ("retrieval", 10), ("svmrank", 30),
        notes=[note("retrieval"), note("svmrank", model="m1")],
    )  # fmt: skip
    summary = build(run.path)
    assert [one.verdict.status for one in summary.gate] == ["pass"]
    assert "Gate" in [table.title for table in tables(summary)]
    assert "insufficient evidence" in Path(run.path, "report.html").read_text(encoding="utf-8")


def test_verdicts_go_into_the_cards_of_these_models_only(tmp_path, monkeypatch):
    verdict = judge(outcomes("retrieval", 20) + outcomes("ffn", 40), "ffn", run="d")
    written = {}

    class Card:
        model_id = "m1"

    monkeypatch.setattr(gate, "read_card", lambda folder: Card)
    monkeypatch.setattr(gate, "write_verdict", lambda folder, v: written.update({folder: v}))
    one = Judged(name="ffn", arm="ffn", model_id="m1", folder="rankers/ffn", verdict=verdict)
    write_verdicts([one])
    assert {str(folder): v for folder, v in written.items()} == {"rankers/ffn": verdict}
    other = one.model_copy(update={"model_id": "m0"})
    with pytest.raises(InvalidInputError, match="is model m1, but the episodes"):
        write_verdicts([one, other], tmp_path)
    assert len(written) == 1
