"""The one shape in which an estimate and its uncertainty travel."""

import math
from typing import NamedTuple


class Interval(NamedTuple):
    """An estimate with a two-sided interval, all in the statistic's own unit.

    `nan` means undefined (no data, a ratio over nothing), `inf` means without bound.
    """

    estimate: float
    low: float
    high: float


UNDEFINED = Interval(math.nan, math.nan, math.nan)
