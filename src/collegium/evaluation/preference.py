"""Return-paired preference (MATM App. B; formulas §2.6): who gets there, and who gets there sooner.

With return profile R_x(t) (running maximum of the return) and T_x(r) = min{t : R_x(t) >= r}, or
infinity, the preference of x over y is the integral over r in (0, 1] of sgn(T_y(r) - T_x(r)), where
sgn(inf - inf) = 0. It lies in [-1, 1] and is antisymmetric. With binary success one level, r = 1,
is left and every vote is -1, 0 or 1, so a table of methods is exact in integers and sums to 0.

Shapes: A methods, N task-runs, L return levels, S steps.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from collegium.core import InvalidInputError

_NEVER = np.iinfo(np.int64).max


def preference_votes(success_AN: ArrayLike, steps_AN: ArrayLike) -> NDArray[np.int64]:
    """Return, for each method and task-run, the sum of its votes against all other methods.

    Args:
        success_AN: whether the method solved the task-run.
        steps_AN: steps taken; only those of solved task-runs matter.

    Returns:
        Integers of shape (A, N) in [-(A - 1), A - 1]; each column sums to 0. The table value of a
        method is its row's sum over N * (A - 1).
    """
    solved_AN = np.asarray(success_AN, dtype=bool)
    reach_AN = np.where(solved_AN, np.asarray(steps_AN, dtype=np.int64), _NEVER)
    later_AAN = reach_AN[None, :, :] > reach_AN[:, None, :]
    sooner_AAN = reach_AN[None, :, :] < reach_AN[:, None, :]
    votes_AN: NDArray[np.int64] = later_AAN.sum(axis=1) - sooner_AAN.sum(axis=1)
    return votes_AN


def preference_at_levels(times_x_L: ArrayLike, times_y_L: ArrayLike, weights_L: ArrayLike) -> float:
    """Return the weighted vote of x over y on return levels.

    Args:
        times_x_L: step at which x first reaches each level, `inf` if never.
        times_y_L: the same of y.
        weights_L: width of each level's segment of (0, 1].
    """
    x_L, y_L = (np.asarray(t, dtype=np.float64) for t in (times_x_L, times_y_L))
    votes_L = (y_L > x_L).astype(np.float64) - (y_L < x_L)
    return float(votes_L @ np.asarray(weights_L, dtype=np.float64))


def preference_of_returns(returns_x_S: ArrayLike, returns_y_S: ArrayLike) -> float:
    """Return the preference of x over y from their returns after each step, in [0, 1].

    The profiles are step functions, so the integral is a finite sum over the levels that either
    reaches; above the higher of the two neither arrives and nothing is voted.
    """
    profile_x, profile_y = _profile(returns_x_S), _profile(returns_y_S)
    edges = np.unique(np.concatenate([[0.0], profile_x, profile_y]))
    levels_L = edges[1:]
    return preference_at_levels(
        _first_reach(profile_x, levels_L), _first_reach(profile_y, levels_L), np.diff(edges)
    )


def _profile(returns_S: ArrayLike) -> NDArray[np.float64]:
    values_S = np.asarray(returns_S, dtype=np.float64)
    if values_S.size and not (values_S.min() >= 0 and values_S.max() <= 1):
        raise InvalidInputError("returns must be normalised to [0, 1]")
    return np.maximum.accumulate(values_S)


def _first_reach(
    profile_S: NDArray[np.float64], levels_L: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the 1-based step at which a non-decreasing profile reaches each level."""
    first_L = np.searchsorted(profile_S, levels_L) + 1.0
    return np.where(first_L > len(profile_S), np.inf, first_L)
