"""Wilson, McNemar and diversity against published values and closed forms."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from collegium.core import InvalidInputError
from collegium.statistics import (
    effective_number,
    inverse_simpson,
    mcnemar_exact,
    paired_difference,
    wilson_interval,
)


@given(st.integers(0, 60), st.integers(0, 60))
def test_wilson_agrees_with_scipy(successes, failures):
    trials = successes + failures
    if trials == 0:
        return
    theirs = binomtest(successes, trials).proportion_ci(method="wilson")
    ours = wilson_interval(successes, trials)
    assert ours.low == pytest.approx(theirs.low, abs=1e-12)
    assert ours.high == pytest.approx(theirs.high, abs=1e-12)


def test_wilson_without_trials_is_undefined_and_bad_counts_are_refused():
    assert math.isnan(wilson_interval(0, 0).estimate)
    with pytest.raises(InvalidInputError, match="3 successes of 2"):
        wilson_interval(3, 2)


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_the_binomial_test_on_discordant_pairs(wins, losses):
    expected = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert mcnemar_exact(wins, losses) == pytest.approx(expected)
    assert mcnemar_exact(wins, losses) == mcnemar_exact(losses, wins)


def test_mcnemar_refuses_negative_counts():
    with pytest.raises(InvalidInputError):
        mcnemar_exact(-1, 2)


@pytest.mark.parametrize(
    ("counts", "shannon", "simpson"),
    [([5, 5, 5, 5], 4.0, 4.0), ([7, 0, 0], 1.0, 1.0), ([], 0.0, 0.0), ([0], 0.0, 0.0)],
)
def test_effective_numbers_of_equal_shares(counts, shannon, simpson):
    assert effective_number(counts) == pytest.approx(shannon)
    assert inverse_simpson(counts) == pytest.approx(simpson)


def test_published_shares_bound_the_published_effective_number():
    """Formulas §2.8: 3 producers hold 68.2 % of retrievals, 31 the rest; 10.5 was published."""
    most_even = [0.682 / 3] * 3 + [0.318 / 31] * 31
    assert effective_number(most_even) == pytest.approx(11.78, abs=0.01)
    assert inverse_simpson(most_even) == pytest.approx(6.32, abs=0.01)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=20).filter(any))
def test_orders_of_diversity(counts):
    present = sum(count > 0 for count in counts)
    assert 1 - 1e-9 <= inverse_simpson(counts) <= effective_number(counts) + 1e-9
    assert effective_number(counts) <= present + 1e-9


def test_negative_counts_are_refused():
    with pytest.raises(InvalidInputError):
        effective_number([3, -1])


def test_the_adjusted_paired_interval():
    """Worked by hand: 4/62 won, 1/62 lost, z = 1.959964."""
    estimate, low, high = paired_difference(3, 0, 60)
    assert estimate == pytest.approx(0.05)
    centre, half = 3 / 62, 1.959964 * math.sqrt((5 / 62 - (3 / 62) ** 2) / 62)
    assert (low, high) == pytest.approx((centre - half, centre + half))
    assert paired_difference(0, 3, 60).low == pytest.approx(-high)


def test_the_adjusted_paired_interval_at_its_ends():
    assert math.isnan(paired_difference(0, 0, 0).estimate)
    assert paired_difference(1, 0, 1).high == 1.0
    with pytest.raises(InvalidInputError, match="do not fit"):
        paired_difference(2, 1, 2)
