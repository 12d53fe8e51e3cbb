"""The paper's analyses on synthetic outcomes whose answers are known."""

import math

import pytest
from synthetic_runs import synthetic_episode

from collegium.core import GuidanceRef, StopReason, generator
from collegium.evaluation.analyses.advantage import advantage, advantage_change
from collegium.evaluation.analyses.memory_sizes import memory_curve
from collegium.evaluation.analyses.producers import producer_use
from collegium.evaluation.arms import ArmNote
from collegium.evaluation.growth import GrowthRow
from collegium.evaluation.outcomes import outcome_of
from collegium.evaluation.paired import difference
from collegium.evaluation.summary import summarise
from collegium.statistics import effective_number


def shown(producer):
    return GuidanceRef(chunk_id="c", producer=producer, rank=1, retrieval_score=0.1, text="t")


def outcome(task, arm, success, *, agent="j", producer=None, steps=3, **changes):
    return outcome_of(
        synthetic_episode(
            task=task,
            arm=arm,
            agent=agent,
            success=success,
            steps=steps,
            guidance=shown(producer) if producer else None,
            **changes,
        )
    )


def pair_outcomes(arm, treated, base, *, agent="j", producer="i"):
    """Return outcomes of one pair: success under `arm`, and alone."""
    tasks = [f"{agent}-{producer}-{n}" for n in range(len(treated))]
    alone = [
        outcome(t, "no_retrieval", bool(s), agent=agent) for t, s in zip(tasks, base, strict=True)
    ]
    return [
        *alone,
        *(
            outcome(t, arm, bool(s), agent=agent, producer=producer)
            for t, s in zip(tasks, treated, strict=True)
        ),
    ]


def test_the_gain_of_the_formulas():
    """3/5 with against 1/5 without: mu = +0.40 (formulas §2.7)."""
    found = advantage(pair_outcomes("retrieval", [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]), "retrieval", {})
    (pair,) = found.pairs
    assert (pair.producer, pair.consumer, pair.episodes) == ("i", "j", 5)
    assert pair.gain == pytest.approx(0.4)
    assert pair.gap is None
    assert found.mean.value == pytest.approx(0.4)
    assert found.mean.low < 0.4 < found.mean.high
    assert found.correlation.value is None


def test_gains_are_weighed_by_pair_and_split_by_gap():
    outcomes = [
        *pair_outcomes("retrieval", [1, 1, 1, 1], [0, 0, 0, 0], producer="strong"),
        *pair_outcomes("retrieval", [1, 0], [0, 0], producer="weak"),
        *pair_outcomes("retrieval", [0], [1], producer="nobody"),
    ]
    capabilities = {"strong": 90.0, "weak": 10.0, "j": 50.0}
    found = advantage(outcomes, "retrieval", capabilities)
    gaps = {pair.producer: pair.gap for pair in found.pairs}
    assert gaps == {"strong": 40.0, "weak": -40.0, "nobody": None}
    assert found.mean.value == pytest.approx((1 + 0.5 - 1) / 3)
    assert found.positive == pytest.approx(2 / 3)
    assert found.from_stronger.value == pytest.approx(1.0)
    assert found.from_weaker.value == pytest.approx(0.5)
    assert found.correlation.value == pytest.approx(1.0)
    few = advantage(outcomes, "retrieval", capabilities, minimum=2)
    assert [pair.producer for pair in few.pairs] == ["strong", "weak"]
    assert advantage(outcomes, "retrieval", {}, minimum=9) is None


def test_a_missing_baseline_gives_way_to_the_consumers_own_rate():
    alone = [outcome(f"x{n}", "no_retrieval", n == 0) for n in range(4)]
    treated = outcome("elsewhere", "retrieval", True, producer="i")
    found = advantage([*alone, treated], "retrieval", {})
    assert found.pairs[0].gain == pytest.approx(0.75)


def test_failures_of_the_machinery_are_no_gains():
    outcomes = pair_outcomes("retrieval", [1, 1], [0, 0])
    broken = outcome("j-i-0", "svmrank", False, producer="i", stop=StopReason.ENGINE_ERROR)
    assert advantage([*outcomes, broken], "svmrank", {}) is None


def test_two_arms_are_compared_on_shared_draws():
    plain = pair_outcomes("retrieval", [1, 0, 0, 0] * 10, [0, 0, 0, 0] * 10)
    ranked = pair_outcomes("svmrank", [1, 1, 1, 0] * 10, [0, 0, 0, 0] * 10)[40:]
    change = advantage_change([*plain, *ranked], "svmrank", "retrieval")
    assert change.value == pytest.approx(0.5)
    assert 0 < change.low < 0.5 < change.high
    assert advantage_change(plain, "svmrank", "retrieval").value is None


def growth(first, last):
    return [
        GrowthRow(partition=p, trajectories=9, chunks_by_producer=chunks)
        for p, chunks in enumerate((first, last))
    ]


def test_producers_by_hand():
    """98 chunks of the expert, 2 of a late agent that is half of what is shown."""
    corpus = growth({"expert": 98}, {"expert": 98, "late": 2})
    outcomes = [
        outcome(f"t{n}", "retrieval", True, producer=("expert", "late")[n % 2]) for n in range(40)
    ]
    use = producer_use(outcomes, "retrieval", corpus)
    assert use.late == ("late",)
    assert use.late_corpus == pytest.approx(0.02)
    assert use.late_shown.value == pytest.approx(0.5)
    assert use.late_ratio.value == pytest.approx(25.0)
    assert use.late_ratio.low < 25 < use.late_ratio.high
    assert use.shown.effective == pytest.approx(2.0)
    assert use.shown.inverse_simpson == pytest.approx(2.0)
    expected = 2.0 - effective_number([98, 2])
    assert use.effective_change.value == pytest.approx(expected)
    assert use.effective_change.low > 0


def test_the_published_effective_number_is_the_shannon_one():
    """Three producers with 68.2 % of retrievals; inverse Simpson is at most 6.32 (§2.8)."""
    shares = [0.682 / 3] * 3 + [0.318 / 31] * 31
    assert effective_number(shares) == pytest.approx(11.78, abs=0.01)


def test_nothing_shown_or_no_memory_is_no_use():
    outcomes = [outcome("t", "retrieval", True)]
    assert producer_use(outcomes, "retrieval", growth({"a": 1}, {"a": 1})) is None
    shown_one = [outcome("t", "retrieval", True, producer="a")]
    assert producer_use(shown_one, "retrieval", []) is None


def curve(solved):
    notes = [
        ArmNote(key=arm, mode="retrieval", scope="full", fraction=float(arm[1:]) / 100)
        for arm in solved
    ]
    episodes = [
        synthetic_episode(
            task=f"t{n}", arm=arm, success=n < count, steps=4 if n < count else 30, offset=offset
        )
        for arm, count in solved.items()
        for offset in (0, 3)
        for n in range(40)
    ]
    return memory_curve(summarise(episodes), notes, [outcome_of(e) for e in episodes])


def test_a_memory_curve_by_rising_fraction():
    found = curve({"m100": 30, "m10": 8, "m50": 20})
    assert [point.fraction for point in found.points] == [0.1, 0.5, 1.0]
    assert [point.success.value for point in found.points] == [0.2, 0.5, 0.75]
    assert found.points[0].by_draw == (0.2, 0.2)
    assert found.success_rises
    assert found.steps_fall
    assert (found.whole.arm, found.whole.baseline) == ("m100", "m10")
    assert found.whole.success.value == pytest.approx(22 / 40)
    dip = curve({"m100": 30, "m10": 8, "m50": 6})
    assert not dip.success_rises
    assert curve({"m100": 30}) is None


def test_a_paired_difference_by_hand():
    outcomes = [outcome(f"t{n}", "a", n < 30, steps=4 if n < 30 else 30) for n in range(40)]
    outcomes += [outcome(f"t{n}", "b", n < 10, steps=4 if n < 10 else 30) for n in range(40)]
    found = difference(outcomes, "a", "b")
    assert (found.pairs, found.wins, found.losses) == (40, 20, 0)
    assert found.success.value == pytest.approx(0.5)
    assert found.steps.value == pytest.approx(-13.0)
    assert found.preference.value == pytest.approx(0.5)
    assert found.tokens.value == pytest.approx(1 / 3 - 1)
    assert found.success.low < 0.5 < found.success.high
    assert difference([outcomes[0], outcomes[79]], "a", "b") is None


def test_intervals_cover_about_as_often_as_they_say():
    """Null effect: the interval of the paired difference should miss 0 in about 5 % of runs."""
    rng = generator(0, "coverage")
    misses = 0
    for run in range(60):
        outcomes = [
            outcome(f"t{n}", arm, bool(rng.random() < 0.3)) for n in range(60) for arm in "ab"
        ]
        found = difference(outcomes, "a", "b", seed=run).success
        misses += not found.low <= 0 <= found.high
    assert misses <= 7
    assert math.isfinite(found.value)
