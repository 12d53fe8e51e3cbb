"""Exact and near-exact inference for proportions; checks on the bootstrap, and its fallback."""

import math

from scipy.special import bdtr, ndtri

from collegium.core import InvalidInputError
from collegium.statistics.intervals import UNDEFINED, Interval


def wilson_interval(successes: int, trials: int, *, level: float = 0.95) -> Interval:
    """Return Wilson's score interval for a binomial proportion; undefined without trials.

    Unlike the bootstrap it has a width when all trials agree. It takes trials as independent.
    """
    if not 0 <= successes <= trials:
        raise InvalidInputError(f"{successes} successes of {trials} trials: expected 0 <= s <= n")
    if trials == 0:
        return UNDEFINED
    z = float(ndtri(0.5 + level / 2))
    share = successes / trials
    centre = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    spread = math.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    half = z * spread / (1 + z * z / trials)
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == trials else centre + half
    return Interval(share, low, high)


def paired_difference(wins: int, losses: int, pairs: int, *, level: float = 0.95) -> Interval:
    """Return the difference of two paired proportions with Bonett and Price's adjusted interval.

    One win and one loss are added (hence two pairs), so few discordant pairs, or such of one kind
    only, give the wide interval that they deserve. It takes pairs as independent. The estimate is
    the plain one, (wins - losses) / pairs; undefined without pairs.
    """
    if min(wins, losses) < 0 or wins + losses > pairs:
        raise InvalidInputError(f"{wins} wins and {losses} losses do not fit into {pairs} pairs")
    if pairs == 0:
        return UNDEFINED
    z = float(ndtri(0.5 + level / 2))
    won, lost = (wins + 1) / (pairs + 2), (losses + 1) / (pairs + 2)
    half = z * math.sqrt((won + lost - (won - lost) ** 2) / (pairs + 2))
    low, high = max(-1.0, won - lost - half), min(1.0, won - lost + half)
    return Interval((wins - losses) / pairs, low, high)


def mcnemar_exact(wins: int, losses: int) -> float:
    """Return McNemar's exact two-sided p-value from the two counts of discordant pairs.

    It takes pairs as independent, so it is a check where each task was played once.
    """
    if wins < 0 or losses < 0:
        raise InvalidInputError(f"discordant pairs must be counts, not {wins} and {losses}")
    discordant = wins + losses
    if discordant == 0:
        return 1.0
    return min(1.0, 2 * float(bdtr(min(wins, losses), discordant, 0.5)))
