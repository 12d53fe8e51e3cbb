"""Pearson's correlation: with its p-value for one sample, without for many at once."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import pearsonr

Floats = NDArray[np.float64]


def pearson(x: ArrayLike, y: ArrayLike) -> Floats:
    """Return r along the first axis; pairs with a `nan` are left out.

    Args:
        x: Shape (P,) or (P, B).
        y: As `x`.

    Returns:
        A scalar array, or shape (B,); `nan` where fewer than two pairs or no variation is left.
    """
    known = ~(np.isnan(x) | np.isnan(y))
    dx, dy = _centred(np.asarray(x, np.float64), known), _centred(np.asarray(y, np.float64), known)
    with np.errstate(invalid="ignore", divide="ignore"):
        r: Floats = np.sum(dx * dy, axis=0) / np.sqrt(np.sum(dx**2, axis=0) * np.sum(dy**2, axis=0))
    return r


def pearson_p_value(x: ArrayLike, y: ArrayLike) -> float:
    """Return the two-sided p-value of r over the pairs without `nan`; `nan` where r is."""
    known = ~(np.isnan(x) | np.isnan(y))
    a, b = np.asarray(x, np.float64)[known], np.asarray(y, np.float64)[known]
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    return float(pearsonr(a, b).pvalue)


def _centred(values: Floats, known: NDArray[np.bool_]) -> Floats:
    """Return the deviations from the mean of what is known, and 0 for the rest."""
    filled = np.where(known, values, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = filled.sum(axis=0) / known.sum(axis=0)
    return np.where(known, filled - mean, 0.0)
