"""Each finding of the paper, checked on local runs: confirmed, not confirmed, or not testable here.

What the verdicts mean is said in `checking`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from collegium.evaluation import formats
from collegium.evaluation.analyses.advantage import Advantage, advantage_change
from collegium.evaluation.analyses.checking import (
    CORRELATION,
    POINTS,
    PREFERENCE,
    PRODUCERS,
    STEPS,
    SUCCESS,
    TIMES,
    TOKENS,
    UNKNOWN,
    Claim,
    Finding,
    Verdict,
    directed,
    finding,
    less,
    paired,
    told,
    untestable,
)
from collegium.evaluation.analyses.memory_sizes import MemoryCurve
from collegium.evaluation.analyses.producers import ProducerUse
from collegium.evaluation.arms import NO_RETRIEVAL, ORACLE, RETRIEVAL
from collegium.evaluation.outcomes import Outcome
from collegium.evaluation.paired import Difference, difference
from collegium.ranking.importance import Importance
from collegium.ranking.schema import Category

RANKERS = ("ffn", "lambdamart", "svmrank")
"""The paper's three."""

_WEAK = 0.3
"""A correlation whose interval stays within this is called weak."""
_FIRST = 5


class Material(NamedTuple):
    """What findings are checked on."""

    outcomes: Sequence[Outcome]
    advantages: Mapping[str, Advantage]
    """By arm; pairs with any number of episodes."""
    uses: Mapping[str, ProducerUse]
    """By arm."""
    memory: MemoryCurve | None
    importances: Sequence[Importance]
    refused: Mapping[str, str]
    """Rankers that training refused, with the reason."""
    seed: int

    def difference(self, arm: str, baseline: str) -> Difference | None:
        """Return the paired difference of two arms; None where one was not played."""
        if not {arm, baseline} <= {outcome.arm for outcome in self.outcomes}:
            return None
        return difference(self.outcomes, arm, baseline, seed=self.seed)


def check_findings(material: Material) -> tuple[Finding, ...]:
    """Return all findings, in the paper's order."""
    sections = (
        _effectiveness,
        _rerankers,
        _distribution,
        _diversity,
        _generalisation,
        _scaling,
        _importance,
        _elsewhere,
    )
    return tuple(found for section in sections for found in section(material))


def _effectiveness(material: Material) -> Iterator[Finding]:
    found = material.difference(RETRIEVAL, NO_RETRIEVAL)
    for section, text, paper, measure in (
        ("§5.1", "Retrieval solves more than no retrieval", "+8.0 points", SUCCESS),
        ("§5.1", "Retrieval takes fewer steps", "−0.59 steps", STEPS),
        ("§5.1", "Retrieval is preferred to no retrieval (RPP)", "−0.16 to −0.05", PREFERENCE),
        ("App. O", "Retrieval spends fewer tokens per solved task", "−11 to −34 %", TOKENS),
    ):
        yield paired(Claim(section, text, paper), found, measure)


def _rerankers(material: Material) -> Iterator[Finding]:
    for ranker in RANKERS:
        paper = "+9.2 points" if ranker == "svmrank" else "solves more"
        claim = Claim("§5.2", f"{ranker} solves more than similarity", paper)
        if ranker in material.refused:
            yield untestable(claim, f"not played: {material.refused[ranker]}")
            continue
        yield paired(claim, material.difference(ranker, RETRIEVAL), SUCCESS)
    claim = Claim("§5.2", "svmrank takes fewer steps than similarity", "−0.83 steps")
    yield paired(claim, material.difference("svmrank", RETRIEVAL), STEPS)
    others = [material.difference("svmrank", other) for other in RANKERS if other != "svmrank"]
    closest = min(
        (other for other in others if other),
        key=lambda other: other.success.value or 0.0,
        default=None,
    )
    claim = Claim("§5.2", "svmrank solves more than the next best ranker", "64.3 %, the most")
    yield paired(claim, closest, SUCCESS)


def _distribution(material: Material) -> Iterator[Finding]:
    plain, ranked = material.advantages.get(RETRIEVAL), material.advantages.get("svmrank")
    claim = Claim("§5.3", "Consumers gain from weaker producers, too", "gains on both sides")
    yield directed(claim, plain.from_weaker if plain else UNKNOWN, POINTS)
    yield _weak_correlation(plain)
    claim = Claim("§5.3", "svmrank lifts the mean retrieval advantage", "about twice")
    change = (
        advantage_change(material.outcomes, "svmrank", RETRIEVAL, seed=material.seed)
        if ranked and plain
        else UNKNOWN
    )
    yield directed(claim, change, POINTS)


def _weak_correlation(plain: Advantage | None) -> Finding:
    claim = Claim("§5.3", "Gain hardly depends on the capability gap", "small, not significant")
    if plain is None or plain.correlation.value is None:
        return untestable(claim, "not measured")
    r = plain.correlation
    chance = formats.p_value(plain.p_value) if plain.p_value is not None else "no p-value"
    pairs = formats.plural(sum(pair.gap is not None for pair in plain.pairs), "pair")
    ends = (-1.0 if r.low is None else r.low, 1.0 if r.high is None else r.high)
    weak = ends[0] >= -_WEAK and ends[1] <= _WEAK
    verdict: Verdict = "confirmed" if weak else "not confirmed"
    return finding(claim, f"r = {told(r, CORRELATION)}, {chance}, {pairs}", r, verdict)


def _diversity(material: Material) -> Iterator[Finding]:
    use = material.uses.get(RETRIEVAL)
    claim = Claim("App. H", "Late contributors are retrieved beyond their share", "23 times")
    yield directed(claim, less(use.late_ratio, 1.0) if use else UNKNOWN, TIMES)
    claim = Claim(
        "App. H", "What is retrieved has more effective producers than the index", "2.2 to 10.5"
    )
    yield directed(claim, use.effective_change if use else UNKNOWN, PRODUCERS)
    claim = Claim("App. H", "Every producer is retrieved at least once", "34 of 34")
    if use is None:
        yield untestable(claim, "not played")
        return
    shown, there = use.shown.producers, use.corpus.producers
    verdict: Verdict = "confirmed" if shown >= there else "not confirmed"
    yield finding(claim, f"{shown} of {there}", UNKNOWN, verdict)


def _generalisation(material: Material) -> Iterator[Finding]:
    for section, text, paper, arm, baseline in (
        ("§5.4", "All chunks solve more than those of the own task type", "more",
         "full", "same_task"),
        ("§5.4", "The own task type solves more than the others", "more",
         "same_task", "cross_task"),
        ("§5.4", "Other task types alone solve more than no retrieval", "59.9 against 47.1 %",
         "cross_task", NO_RETRIEVAL),
        ("App. N", "The oracle solves more than retrieval", "far more", ORACLE, RETRIEVAL),
    ):  # fmt: skip
        found = material.difference(arm, baseline)
        yield paired(Claim(section, text, paper), found, SUCCESS)


def _scaling(material: Material) -> Iterator[Finding]:
    memory = material.memory
    for text, measure, monotone in (
        ("The larger the memory, the more is solved", SUCCESS, memory and memory.success_rises),
        ("The larger the memory, the fewer the steps", STEPS, memory and memory.steps_fall),
    ):
        claim = Claim("§5.5", text, "monotonic")
        found = paired(claim, memory.whole if memory else None, measure)
        if found.verdict == "not testable":
            yield found
            continue
        verdict: Verdict = found.verdict if monotone else "not confirmed"
        here = f"{'' if monotone else 'not '}monotonic; largest less smallest {found.here}"
        yield found.model_copy(update={"here": here, "verdict": verdict})


def _importance(material: Material) -> Iterator[Finding]:
    """Without interval: it is read off the features of one training of each ranker."""
    claim = Claim("App. K", "Rankers go by producer metadata beside similarity", "yes")
    rows = [row for row in material.importances if row.ranker in RANKERS]
    if not rows:
        yield untestable(claim, "not measured")
        return
    names = sorted({row.ranker for row in rows})
    first = {
        name: sorted((r for r in rows if r.ranker == name), key=lambda r: -r.shap)[:_FIRST]
        for name in names
    }
    yes = [name for name in names if any(r.category == Category.PRODUCER for r in first[name])]
    here = f"among the {_FIRST} largest by SHAP in {len(yes)} of {len(names)} rankers"
    named = f"{here} ({', '.join(yes)})" if yes else here
    yield finding(claim, named, UNKNOWN, "confirmed" if yes == names else "not confirmed")


def _elsewhere(_material: Material) -> Iterator[Finding]:
    for section, text, paper in (
        ("§5.1", "WebArena: retrieval solves more", "18 to 20 %"),
        ("§5.2", "WebArena: ffn matches similarity in the fewest steps", "20.5 %, 19.91 steps"),
        ("§5.5", "WebArena: steps fall with memory size, success does not rise steadily", "dips"),
    ):
        yield untestable(Claim(section, text, paper), "its games are not part of this project")
