"""Return-paired preference (MATM App. B; formulas §2.6): who gets there, and who gets there sooner.

With return profile R_x(t) (running maximum of the return) and T_x(r) = min{t : R_x(t) >= r}, or
infinity, the preference of x over y is the integral over r in (0, 1] of sgn(T_y(r) - T_x(r)), where
sgn(inf - inf) = 0. It lies in [-1, 1] and is antisymmetric. With binary success, all that is scored
here, one level, r = 1, is left and every vote is -1, 0 or 1, so a table of methods is exact in
integers and sums to 0.

Shapes: A methods, N task-runs.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
