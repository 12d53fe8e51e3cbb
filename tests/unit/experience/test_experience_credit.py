"""Credit is a mean, or a difference of weighted means; who did better gets more."""

import math

import pytest

from collegium.core import generator
from collegium.experience.credit import Evidence, producer_credit


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
