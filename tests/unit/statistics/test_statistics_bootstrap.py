"""The cluster bootstrap against closed forms, and its coverage by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collegium.core import InvalidInputError, generator
from collegium.statistics import ClusterBootstrap, wilson_interval


def _draw(clusters, seed=0, **options):
    return ClusterBootstrap.draw(clusters, generator(seed, "test"), **options)


def _names(count, each=1):
    return [f"task-{i:03d}" for i in range(count) for _ in range(each)]


def test_mean_matches_normal_theory_on_many_clusters():
    values = generator(1, "normal").normal(size=400)
    interval = _draw(_names(400), resamples=20_000).mean(values)
    half = 1.966 * values.std(ddof=1) / math.sqrt(400)
    assert interval.estimate == pytest.approx(values.mean())
    assert interval.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_small_samples_are_widened_to_student_width():
    values = generator(2, "normal").normal(size=8)
    interval = _draw(_names(8), resamples=50_000).mean(values)
    half = 2.365 * values.std(ddof=1) / math.sqrt(8)
    assert interval.high - interval.low == pytest.approx(2 * half, rel=0.1)


def test_same_seed_same_interval_and_row_order_does_not_matter():
    values = generator(3, "values").random(30)
    names = _names(10, each=3)
    order = generator(3, "order").permutation(30)
    first = _draw(names).mean(values)
    assert first == _draw(names).mean(values)
    shuffled = _draw([names[i] for i in order]).mean(values[order])
    assert shuffled == pytest.approx(first)


def test_copies_of_a_row_inside_a_task_add_no_evidence():
    values = generator(4, "values").random(20)
    once = _draw(_names(20)).mean(values)
    thrice = _draw(_names(20, each=3)).mean(np.repeat(values, 3))
    assert thrice == pytest.approx(once)


def test_ratio_is_sum_over_sum():
    interval = _draw(_names(4)).ratio([100, 50, 30, 20], [1, 1, 0, 0])
    assert interval.estimate == 100
    assert interval.low <= 100 <= interval.high
    assert interval.high == math.inf, "some resamples solve nothing, so there is no upper end"


def test_ratio_over_nothing_is_undefined():
    assert math.isnan(_draw(_names(3)).ratio([5, 5, 5], [0, 0, 0]).estimate)
    assert math.isnan(_draw([]).mean([]).estimate)


def test_relative_change_is_paired():
    tokens = generator(5, "tokens").integers(100, 1000, size=50)
    solved = np.ones(50)
    interval = _draw(_names(50)).relative_change(0.8 * tokens, solved, tokens, solved)
    assert interval == pytest.approx((-0.2, -0.2, -0.2))


def test_relative_change_undefined_in_a_resample_counts_against_both_ends():
    interval = _draw(_names(5)).relative_change([9] * 5, [1, 0, 0, 0, 0], [9] * 5, [1, 0, 0, 0, 0])
    assert interval.estimate == 0
    assert (interval.low, interval.high) == (-math.inf, math.inf)


@pytest.mark.parametrize("value", [0, 1])
def test_unanimous_proportion_falls_back_to_wilson_over_tasks(value):
    interval = _draw(_names(24, each=3)).proportion([value] * 72)
    assert interval == wilson_interval(24 * value, 24)
    assert 0.1 < interval.high - interval.low < 0.2


def test_no_disagreeing_pair_still_has_a_width():
    interval = _draw(_names(30)).difference([1, 0] * 15, [1, 0] * 15)
    assert interval.estimate == 0
    assert interval.low == -interval.high < -0.05


def test_pairing_narrows_the_difference():
    rng = generator(6, "paired")
    control = rng.random(200) < 0.5
    treated = control ^ (rng.random(200) < 0.1)
    draws = _draw(_names(200))
    paired = draws.difference(treated, control)
    alone = draws.mean(treated)
    assert paired.high - paired.low < 0.6 * (alone.high - alone.low) * math.sqrt(2)


def test_one_cluster_gives_no_interval():
    interval = _draw(["only", "only"]).mean([1, 2])
    assert interval.estimate == 1.5
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


def test_column_of_another_length_is_refused():
    with pytest.raises(InvalidInputError, match="3 rows"):
        _draw(_names(3)).mean([1, 2])


def _attempts(rng, tasks, each):
    """Tasks differ in difficulty, so attempts at one task go together; half succeed overall."""
    difficulty = np.repeat(rng.normal(size=tasks), each)
    return rng.random(tasks * each) < 1 / (1 + np.exp(-1.5 * difficulty))


@pytest.mark.parametrize(("tasks", "each"), [(24, 1), (24, 3), (100, 3)])
def test_coverage_of_success_rate_over_clustered_rows(tasks, each):
    rng = generator(7, "coverage", tasks, each)
    hits = 0
    for _ in range(400):
        solved = _attempts(rng, tasks, each)
        draws = ClusterBootstrap.draw(_names(tasks, each), rng, resamples=600)
        interval = draws.proportion(solved)
        hits += interval.low <= 0.5 <= interval.high
    assert 0.915 <= hits / 400 <= 0.985


def test_rows_taken_as_independent_would_not_cover():
    rng = generator(8, "naive")
    hits = 0
    for _ in range(400):
        solved = _attempts(rng, 24, 6)
        draws = ClusterBootstrap.draw([str(i) for i in range(144)], rng, resamples=400)
        interval = draws.proportion(solved)
        hits += interval.low <= 0.5 <= interval.high
    assert hits / 400 < 0.88


def test_coverage_of_tokens_per_solved_task():
    rng = generator(9, "ratio")
    hits = 0
    for _ in range(400):
        solved = rng.random(60) < 0.4
        tokens = rng.gamma(2.0, 500.0, size=60) * np.where(solved, 0.6, 1.0)
        draws = ClusterBootstrap.draw(_names(60), rng, resamples=600)
        interval = draws.ratio(tokens, solved)
        hits += interval.low <= (0.4 * 600 + 0.6 * 1000) / 0.4 <= interval.high
    assert 0.91 <= hits / 400 <= 0.985


@given(
    st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.booleans()), min_size=1, max_size=40)
)
def test_difference_is_antisymmetric_and_bounded(rows):
    names = [str(task) for task, _, _ in rows]
    treated = np.array([t for _, t, _ in rows])
    control = np.array([c for _, _, c in rows])
    draws = _draw(names, resamples=200)
    forward, back = draws.difference(treated, control), draws.difference(control, treated)
    assert forward.estimate == pytest.approx(-back.estimate)
    if not math.isnan(forward.low):
        assert -1 <= forward.low <= forward.high <= 1
        assert (forward.low, forward.high) == pytest.approx((-back.high, -back.low))
