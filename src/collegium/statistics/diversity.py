"""How many producers there are in effect, given how unequal their shares are (formulas §2.8).

Both numbers are Hill numbers: 1 for a monopoly, n for n equal shares; order 1 weighs small
producers more than order 2 does. Zero counts do not matter; with no count at all both are 0.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from collegium.core import InvalidInputError


def effective_number(counts: ArrayLike) -> float:
    """Return exp(Shannon entropy) of the shares: the Hill number of order 1."""
    shares = _shares(counts)
    return float(np.exp(-np.sum(shares * np.log(shares)))) if shares.size else 0.0


def inverse_simpson(counts: ArrayLike) -> float:
    """Return 1 / sum of squared shares: the Hill number of order 2."""
    shares = _shares(counts)
    return float(1 / np.sum(shares**2)) if shares.size else 0.0


def _shares(counts: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(counts, dtype=np.float64)
    if values.size and values.min() < 0:
        raise InvalidInputError("counts of chunks must not be negative")
    positive = values[values > 0]
    shares: NDArray[np.float64] = positive / positive.sum()
    return shares
