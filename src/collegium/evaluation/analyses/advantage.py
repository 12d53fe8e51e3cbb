"""Retrieval advantage against capability gap (MATM §5.3 and App. L; formulas §2.7).

For a producer i and a consumer j, E is j's episodes in which guidance from i was shown::

    gain  mu = mean success over E, less mean success of the same task-runs without retrieval
    gap   kappa = capability of i less capability of j; above 0 the producer is more capable

Pairs whose producer or consumer has no measured capability stay out of what is said about gaps.
Intervals draw whole tasks again, so all pairs that share a task vary together. Each pair has the
same weight, however many episodes it has; an episode shown guidance of several producers counts for
each of them.
"""

from collections.abc import Mapping, Sequence

from collegium.core import Record
from collegium.evaluation.analyses.gains import Gains, PairGain, mean_gain
from collegium.evaluation.outcomes import Outcome
from collegium.evaluation.records import Estimate


class Advantage(Record):
    """The gains of all pairs under one arm."""

    arm: str
    minimum: int
    """Episodes that a pair needs to be counted."""
    pairs: tuple[PairGain, ...]
    mean: Estimate
    """Mean gain over pairs."""
    positive: float
    """Share of the pairs with a gain above 0."""
    from_stronger: Estimate
    """Mean gain over pairs with a gap above 0."""
    from_weaker: Estimate
    """Mean gain over pairs with a gap below 0."""
    correlation: Estimate
    """Pearson's r between gap and gain."""
    p_value: float | None


def advantage(
    outcomes: Sequence[Outcome],
    arm: str,
    capabilities: Mapping[str, float],
    *,
    minimum: int = 1,
    seed: int = 0,
) -> Advantage | None:
    """Return the gains of `arm`; None where no pair has enough episodes.

    Args:
        outcomes: Of all arms; those of `no_retrieval` are the baselines.
        arm: A guided arm.
        capabilities: Agent -> measured capability, 0 to 100, as far as known.
        minimum: Episodes that a pair needs.
        seed: Of the bootstrap.
    """
    gains = Gains(outcomes, [arm], capabilities, minimum, seed)
    if not gains.names(arm):
        return None
    pairs = gains.pairs(arm)
    mean = gains.interval(lambda mu: mean_gain(mu[0]))
    return Advantage(
        arm=arm,
        minimum=minimum,
        pairs=pairs,
        mean=Estimate.of(mean),
        positive=sum(pair.gain > 0 for pair in pairs) / len(pairs),
        from_stronger=Estimate.of(gains.mean_where(arm, lambda gap: gap > 0)),
        from_weaker=Estimate.of(gains.mean_where(arm, lambda gap: gap < 0)),
        correlation=Estimate.of(gains.correlation(arm)),
        p_value=gains.p_value(arm),
    )


def advantage_change(
    outcomes: Sequence[Outcome], arm: str, other: str, *, seed: int = 0
) -> Estimate:
    """Return the mean gain under `arm` less that under `other`, over each arm's own pairs."""
    gains = Gains(outcomes, [arm, other], {}, 1, seed)
    if not gains.names(arm) or not gains.names(other):
        return Estimate(value=None, low=None, high=None)
    return Estimate.of(gains.interval(lambda mu: mean_gain(mu[0]) - mean_gain(mu[1])))
