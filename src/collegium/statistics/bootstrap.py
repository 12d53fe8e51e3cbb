"""Paired bootstrap by cluster: whole tasks are drawn again, with all rows that belong to them.

Every statistic here is a function of column sums (a mean, a ratio of sums, a change of ratios), so
a resample is a vector of weights on the clusters' sums and 10,000 of them are one matrix product.
Paired statistics put both sides in one row; drawing a task draws both.

The interval is the *expanded* percentile interval (Hesterberg 2015): with n clusters the tails are
taken at Phi(sqrt(n/(n-1)) * t_{n-1}(alpha/2)), which undoes the percentile interval's narrowness at
small n and becomes the plain one as n grows. Percentiles, and not normal theory, because tokens per
solved task are skewed and infinite where a resample solves nothing.

Shapes: N rows, C clusters, K columns, B resamples.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, stdtrit

from collegium.core import InvalidInputError
from collegium.statistics.intervals import UNDEFINED, Interval
from collegium.statistics.proportions import wilson_interval

Floats = NDArray[np.float64]
Statistic = Callable[..., Floats]
"""Takes K arrays of column sums, returns the statistic elementwise."""


@dataclass(frozen=True)
class ClusterBootstrap:
    """Resamples of one set of rows; all statistics of these rows share the draws."""

    cluster_N: NDArray[np.intp]
    weights_BC: Floats
    level: float

    @classmethod
    def draw(
        cls,
        clusters: Sequence[str],
        rng: np.random.Generator,
        *,
        resamples: int = 10_000,
        level: float = 0.95,
    ) -> "ClusterBootstrap":
        """Draw the resamples for rows whose cluster (task) names are `clusters`."""
        names, cluster_N = np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)
        count = len(names)
        if count == 0:
            return cls(cluster_N, np.zeros((resamples, 0)), level)
        weights_BC = rng.multinomial(count, np.full(count, 1 / count), size=resamples)
        return cls(cluster_N, weights_BC.astype(np.float64), level)

    @property
    def clusters(self) -> int:
        """C, the number of clusters."""
        return int(self.weights_BC.shape[1])

    def interval(self, statistic: Statistic, *columns: ArrayLike) -> Interval:
        """Return the statistic of the column sums, with its interval.

        Args:
            statistic: elementwise function of K arrays of sums.
            columns: K arrays of shape (N,).

        Returns:
            The estimate on the rows as they are. The ends are `nan` with fewer than two clusters;
            a resample where the statistic is undefined counts against both ends.
        """
        totals_CK = self._totals(columns)
        with np.errstate(all="ignore"):
            estimate = float(statistic(*totals_CK.sum(axis=0)))
            values_B = statistic(*(self.weights_BC @ totals_CK).T)
        if math.isnan(estimate):
            return UNDEFINED
        if self.clusters < 2:
            return Interval(estimate, math.nan, math.nan)
        tail = self._tail()
        unknown_B = np.isnan(values_B)
        low = np.quantile(np.where(unknown_B, -np.inf, values_B), tail, method="lower")
        high = np.quantile(np.where(unknown_B, np.inf, values_B), 1 - tail, method="higher")
        return Interval(estimate, float(low), float(high))

    def mean(self, values: ArrayLike) -> Interval:
        """Return the mean over rows."""
        return self.interval(_ratio, values, np.ones(len(self.cluster_N)))

    def ratio(self, numerator: ArrayLike, denominator: ArrayLike) -> Interval:
        """Return sum / sum, e.g. all tokens over solved tasks; infinite over a sum of 0.

        Undefined when the rows as they are have a denominator of 0.
        """
        if not np.sum(denominator):
            return UNDEFINED
        return self.interval(_ratio, numerator, denominator)

    def relative_change(
        self,
        numerator: ArrayLike,
        denominator: ArrayLike,
        base_numerator: ArrayLike,
        base_denominator: ArrayLike,
    ) -> Interval:
        """Return ratio / base ratio - 1, paired by row; undefined if either ratio is."""
        if not np.sum(denominator) or not np.sum(base_denominator):
            return UNDEFINED
        return self.interval(
            _relative_change, numerator, denominator, base_numerator, base_denominator
        )

    def proportion(self, successes: ArrayLike) -> Interval:
        """Return the share of rows that are 1.

        Rows that all agree leave the bootstrap nothing to vary; Wilson's interval over the clusters
        (fewer than rows, hence on the safe side) stands in.
        """
        values_N = np.asarray(successes, dtype=np.float64)
        share = float(values_N.mean()) if values_N.size else math.nan
        if share in (0.0, 1.0):
            return wilson_interval(int(share) * self.clusters, self.clusters, level=self.level)
        return self.mean(values_N)

    def difference(self, treated: ArrayLike, control: ArrayLike) -> Interval:
        """Return the paired difference of two proportions, treated - control.

        If no pair disagrees, the difference is 0 and smaller in size than the share of disagreeing
        pairs can plausibly be: Wilson's bound over the clusters.
        """
        delta_N = np.asarray(treated, dtype=np.float64) - np.asarray(control, dtype=np.float64)
        if delta_N.size and not delta_N.any():
            bound = wilson_interval(0, self.clusters, level=self.level).high
            return Interval(0.0, -bound, bound)
        return self.mean(delta_N)

    def _totals(self, columns: Sequence[ArrayLike]) -> Floats:
        """Sum each column within each cluster: shape (C, K)."""
        rows = len(self.cluster_N)
        totals = []
        for column in columns:
            values_N = np.asarray(column, dtype=np.float64)
            if values_N.shape != (rows,):
                raise InvalidInputError(f"expected a column of {rows} rows, got {values_N.shape}")
            totals.append(np.bincount(self.cluster_N, weights=values_N, minlength=self.clusters))
        return np.stack(totals, axis=1)

    def _tail(self) -> float:
        """Return the probability to cut off at each end."""
        degrees = self.clusters - 1
        t = float(stdtrit(degrees, (1 - self.level) / 2))
        return float(ndtr(math.sqrt(self.clusters / degrees) * t))


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    return np.divide(numerator, denominator)


def _relative_change(
    numerator: Floats, denominator: Floats, base_numerator: Floats, base_denominator: Floats
) -> Floats:
    return np.divide(numerator * base_denominator, denominator * base_numerator) - 1
