"""Pearson's r for one sample and for many at once."""

import math

import numpy as np
import pytest
from scipy.stats import pearsonr

from collegium.core import generator
from collegium.statistics.correlation import pearson, pearson_p_value


def test_it_agrees_with_scipy():
    rng = generator(0, "test")
    x, y = rng.normal(size=30), rng.normal(size=30)
    assert float(pearson(x, y)) == pytest.approx(pearsonr(x, y).statistic)
    assert pearson_p_value(x, y) == pytest.approx(pearsonr(x, y).pvalue)


def test_columns_are_samples_and_unknown_pairs_are_left_out():
    rng = generator(1, "test")
    x, y = rng.normal(size=(12, 5)), rng.normal(size=(12, 5))
    y[3, 2] = np.nan
    found = pearson(x, y)
    assert found.shape == (5,)
    assert found[0] == pytest.approx(pearsonr(x[:, 0], y[:, 0]).statistic)
    kept = np.arange(12) != 3
    assert found[2] == pytest.approx(pearsonr(x[kept, 2], y[kept, 2]).statistic)


def test_without_variation_there_is_none():
    assert math.isnan(pearson([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]))
    assert math.isnan(pearson([1.0, np.nan], [1.0, 2.0]))
    assert math.isnan(pearson_p_value([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]))
