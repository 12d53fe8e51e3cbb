"""Labels as grades and gains: what rankers learn from, and what NDCG adds up.

A label l in [-1, 1] has the gain 2^(l + 1) - 1, so that hurting is worth 0, changing nothing 1 and
helping 3. Trees need whole grades: with n repeats a label is a multiple of 1/n, and its grade is
(l + 1) * n, rounded. With one repeat these are l + 1 in {0, 1, 2} with the gains 0, 1, 3
(formulas §2.3).
"""

import numpy as np
from numpy.typing import NDArray

from collegium.core import InvalidInputError, Record
from collegium.ranking.protocol import Vector

_MOST = 15
"""Levels above and below 0; finer labels are rounded."""


class GradeScale(Record):
    """The grades that labels of one data set have."""

    levels: int
    """Grades above that of label 0, and below it."""

    @classmethod
    def for_repeats(cls, repeats: int) -> "GradeScale":
        """Return the scale of labels that are means over at most `repeats` futures."""
        return cls(levels=min(max(repeats, 1), _MOST))

    def grades(self, labels: Vector) -> NDArray[np.int64]:
        """Return the grade of each label.

        Raises:
            InvalidInputError: A label is not in [-1, 1].
        """
        wrong = labels[~((labels >= -1.0) & (labels <= 1.0))]
        if len(wrong):
            raise InvalidInputError(
                f"{len(wrong)} labels cannot be mapped to grades, {wrong[0]} is the first: labels "
                "are differences of scores, in [-1, 1]"
            )
        return np.rint((labels + 1.0) * self.levels).astype(np.int64)

    @property
    def gains(self) -> list[float]:
        """Gain of each grade, from 0."""
        return [2.0 ** (grade / self.levels) - 1.0 for grade in range(2 * self.levels + 1)]

    @property
    def mapping(self) -> dict[str, float]:
        """Label -> gain, for the card."""
        labels = [grade / self.levels - 1.0 for grade in range(2 * self.levels + 1)]
        return {f"{label:+.3g}": gain for label, gain in zip(labels, self.gains, strict=True)}
