"""How a finding is checked: the number that decides, the side of 0 it must lie on, the verdict.

A finding with a direction is confirmed if the 95 % interval of its number lies on the paper's side
of 0. *Not confirmed* says no more than that: the interval tells whether the opposite was seen, or
nothing could be told. *Not testable* means that what it needs is not there.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from collegium.core import Record
from collegium.evaluation import formats
from collegium.evaluation.formats import written
from collegium.evaluation.paired import Difference
from collegium.evaluation.records import Estimate

Verdict = Literal["confirmed", "not confirmed", "not testable"]

UNKNOWN = Estimate(value=None, low=None, high=None)


class Claim(NamedTuple):
    """What the paper says."""

    section: str
    text: str
    paper: str
    """Its numbers."""


class Finding(Record):
    """One finding of the paper, and what is seen here."""

    section: str
    claim: str
    paper: str
    """The paper's numbers."""
    here: str
    """What was measured, with its interval."""
    estimate: Estimate
    """The number that decides; without value where none does."""
    verdict: Verdict


class Scale(NamedTuple):
    """How a number is written, and which side of 0 is better."""

    form: Callable[[float], str]
    unit: str = ""
    better: Literal[1, -1] = 1


class Measure(NamedTuple):
    """A number of a paired difference on its scale."""

    of: Callable[[Difference], Estimate]
    scale: Scale


def _signed(value: float) -> str:
    text = formats.decimal(value)
    return f"+{text}" if value > 0 else text


POINTS = Scale(formats.points, " points")
PRODUCERS = Scale(_signed, " producers")
TIMES = Scale(lambda excess: formats.decimal(excess + 1), " times")
"""Of a ratio less 1."""
CORRELATION = Scale(formats.decimal)

SUCCESS = Measure(lambda d: d.success, POINTS)
STEPS = Measure(lambda d: d.steps, Scale(_signed, " steps", better=-1))
TOKENS = Measure(lambda d: d.tokens, Scale(formats.change, " %", better=-1))
PREFERENCE = Measure(lambda d: d.preference, Scale(formats.preference))


def finding(claim: Claim, here: str, estimate: Estimate, verdict: Verdict) -> Finding:
    """Return the finding of `claim`."""
    return Finding(
        section=claim.section,
        claim=claim.text,
        paper=claim.paper,
        here=here,
        estimate=estimate,
        verdict=verdict,
    )


def untestable(claim: Claim, why: str) -> Finding:
    """Return a finding that cannot be tested here."""
    return finding(claim, why, UNKNOWN, "not testable")


def paired(claim: Claim, found: Difference | None, measure: Measure) -> Finding:
    """Check a claim on a paired difference."""
    if found is None:
        return untestable(claim, "not played")
    checked = directed(claim, measure.of(found), measure.scale)
    pairs = formats.plural(found.pairs, "pair")
    return checked.model_copy(update={"here": f"{checked.here}, {pairs}"})


def directed(claim: Claim, estimate: Estimate, scale: Scale) -> Finding:
    """Check that `estimate` lies on the better side of 0 with its whole interval."""
    if estimate.value is None:
        return untestable(claim, "not measured")
    bound = estimate.low if scale.better > 0 else estimate.high
    verdict: Verdict = (
        "confirmed" if bound is not None and bound * scale.better > 0 else "not confirmed"
    )
    return finding(claim, told(estimate, scale), estimate, verdict)


def told(estimate: Estimate, scale: Scale) -> str:
    """Write a number with its unit and interval."""
    number = written(estimate, scale.form, scale.unit)
    return f"{number.text} ({number.detail})" if number.detail else number.text


def less(estimate: Estimate, what: float) -> Estimate:
    """Return an estimate with its ends, less a constant."""
    ends = (estimate.value, estimate.low, estimate.high)
    value, low, high = (None if end is None else end - what for end in ends)
    return Estimate(value=value, low=low, high=high)
