"""Credit is a mean, or a difference of weighted means; who did better gets more."""

import math

import pytest

from collegium.core import generator
from collegium.experience import UtilityLabel, chunk_trajectory
from collegium.experience.credit import Evidence, credit_by_labels, producer_credit


def test_utilities_are_averaged():
    rows = [
        Evidence("a", "q1", 2, 1.0),
        Evidence("a", "q2", 1, 1.0),
        Evidence("b", "q1", 1, -1.0),
    ]
    first, second = producer_credit(rows, centred=False)
    assert (first.producer, first.questions) == ("a", 2)
    assert first.credit.estimate == pytest.approx(2 / 3)
    assert second.credit.estimate == -1.0
    assert not math.isfinite(second.credit.low), "half of the draws lack its one question"


def test_scores_are_compared_with_all_outcomes():
    rows = [
        Evidence("a", "q1", 2.0, 2.0),
        Evidence("b", "q1", 2.0, 0.0),
        Evidence(None, "q2", 4.0, 2.0),
    ]
    first, second = producer_credit(rows, centred=True)
    assert first.credit.estimate == pytest.approx(1 - 0.5)
    assert second.credit.estimate == pytest.approx(0 - 0.5)


def test_what_is_real_is_seen_and_the_draws_repeat():
    rng = generator(3, "test")
    rows = [
        Evidence(name, f"q{question}", 1.0, float(rng.random() < chance))
        for question in range(200)
        for name, chance in (("good", 0.7), ("bad", 0.3), (None, 0.5))
    ]
    bad, good = producer_credit(rows, centred=True)
    assert bad.credit.high < 0 < good.credit.low
    assert producer_credit(rows, centred=True) == [bad, good]


def test_no_evidence_is_no_credit():
    assert producer_credit([], centred=True) == []
    assert producer_credit([Evidence(None, "q", 1, 1)], centred=True) == []


@pytest.fixture
def labels(make_trajectory):
    """Labels of a question each: producer and utility, or None for one without a control."""

    def build(rows):
        return [
            labelled(make_trajectory(3, producer=producer), question, utility)
            for question, producer, utility in rows
        ]

    return build


def labelled(trajectory, question, utility):
    chunk = chunk_trajectory(trajectory)[0]
    return UtilityLabel(
        key=f"{question}/{chunk.producer}/{utility}",
        group=question,
        question=question,
        task_type="pick",
        partition=1,
        agent="consumer",
        step=1,
        rank=1,
        retrieval_score=0.1,
        chunk_id=chunk.chunk_id,
        producer=chunk.producer,
        query="",
        chunk=chunk.model_dump_json(),
        score_base=0.0,
        score_future=float(utility == 1),
        score_control=None if utility is None else float(utility == -1),
        label=float(utility == 1),
        utility=utility,
        utility_low=None,
        utility_high=None,
        repeats=1,
        steps_future=1,
        steps_control=1,
        seeds=(0,),
        embedder="e",
        grammar="g",
    )


def test_labels_credit_producers_by_their_utility(labels):
    rows = [("q1", "a", 1.0), ("q1", "a", 0.0), ("q2", "a", 1.0), ("q1", "b", -1.0)]
    first, second = credit_by_labels(labels([*rows, ("q3", "a", None), ("q3", "c", None)]))
    assert (first.key, first.labels, first.questions) == ("a", 3, 2)
    assert first.credit == pytest.approx(2 / 3)
    assert (second.key, second.credit) == ("b", -1.0)
    assert (second.low, second.high) == (None, None), "one question bounds nothing"


def test_many_labels_bound_the_credit_of_each(labels):
    rows = [
        (f"q{question}", producer, utility)
        for question in range(60)
        for producer, utility in (
            ("good", float(question % 2)),
            ("idle", 0.0),
            ("bad", -float(question % 3 == 0)),
        )
    ]
    bad, good, idle = credit_by_labels(labels(rows))
    assert -1 <= bad.low < bad.credit < bad.high < 0 < good.low < good.credit < good.high <= 1
    assert idle.credit == 0
    assert credit_by_labels(labels(rows)) == [bad, good, idle]


def test_without_controls_there_is_no_credit(labels):
    assert credit_by_labels(labels([("q1", "a", None)])) == []
