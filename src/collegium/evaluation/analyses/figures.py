"""The figures of a study, each drawn from its record alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from collegium.evaluation import formats
from collegium.evaluation.analyses.advantage import Advantage
from collegium.evaluation.analyses.memory_sizes import MemoryCurve, MemoryPoint
from collegium.evaluation.analyses.producers import ProducerUse
from collegium.evaluation.analyses.study import CategoryShare, ModeRow, Study
from collegium.evaluation.records import Estimate
from collegium.evaluation.report.figures import figures, success_by_arm
from collegium.evaluation.report.svg import MUTED, RULE, Figure, arm_colour, canvas, to_svg
from collegium.ranking.schema import Category

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH = 6.2


def study_figures(study: Study) -> tuple[Figure, ...]:
    """Return all figures that the study has data for."""
    drawn = list(figures(study.main))
    if any(row.beside_none for row in study.modes):
        drawn.append(mode_differences(study.modes))
    if gains := [found for found in study.advantages if found.minimum == 1]:
        drawn.append(advantage_scatter(gains))
    if study.producers:
        drawn.append(producers_in_effect(study.producers))
    if study.scopes:
        drawn.append(success_by_arm(study.scopes, "scopes", "Success rate by retrieval scope"))
    if study.memory:
        drawn.append(memory_sizes(study.memory))
    if study.importances:
        drawn.append(importance_by_category(study.importances))
    return tuple(drawn)


def mode_differences(modes: Sequence[ModeRow]) -> Figure:
    """Paired difference in success to no retrieval, one line a mode."""
    title = "Difference in success to no retrieval, by mode"
    rows = [(row.arm, row.beside_none.success) for row in modes if row.beside_none]
    with canvas(_WIDTH, 0.75 + 0.36 * len(rows)) as figure:
        axes = figure.subplots()
        axes.axvline(0, color=RULE, linewidth=1)
        for height, (_, success) in enumerate(rows):
            _point(axes, success, height, arm_colour(1))
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel("points of success rate, paired")
        axes.grid(axis="y", visible=False)
        svg = to_svg(figure, "modes", title)
    told = "; ".join(f"{name} {formats.written(e, formats.points).text}" for name, e in rows)
    return Figure("modes", title, f"{told}.", svg)


def advantage_scatter(gains: Sequence[Advantage]) -> Figure:
    """Gain of each producer-consumer pair over its capability gap; larger dots, more episodes."""
    title = "Retrieval advantage and capability gap"
    with canvas(_WIDTH, 3.6) as figure:
        axes = figure.subplots()
        axes.axhline(0, color=RULE, linewidth=1)
        axes.axvline(0, color=RULE, linewidth=1)
        for place, found in enumerate(gains, start=1):
            known = [(p.gap, p.gain, p.episodes) for p in found.pairs if p.gap is not None]
            axes.scatter(
                [gap for gap, _, _ in known],
                [100 * gain for _, gain, _ in known],
                s=[8 + 4 * episodes**0.5 for _, _, episodes in known],
                color=arm_colour(place),
                alpha=0.6,
                linewidths=0,
                label=found.arm,
            )
        axes.set(xlabel="capability gap, producer less consumer, points", ylabel="gain, points")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0)
        svg = to_svg(figure, "advantage", title)
    told = "; ".join(
        f"{found.arm}: r {formats.written(found.correlation, formats.decimal).text}"
        for found in gains
    )
    return Figure("advantage", title, f"One dot a pair. {told}.", svg)


def producers_in_effect(uses: Sequence[ProducerUse]) -> Figure:
    """Effective producers of the index and of what each arm retrieved."""
    title = "Effective producers: in the index, and of what was retrieved"
    names = ["index", *(use.arm for use in uses)]
    values = [uses[0].corpus.effective, *(use.shown.effective for use in uses)]
    with canvas(_WIDTH, 0.8 + 0.3 * len(names)) as figure:
        axes = figure.subplots()
        colours = [arm_colour(0)] + [arm_colour(1)] * len(uses)
        axes.barh(names[::-1], values[::-1], color=colours[::-1], height=0.6)
        axes.set_xlabel("exp(Shannon entropy) of the producers' shares")
        axes.grid(axis="y", visible=False)
        svg = to_svg(figure, "effective-producers", title)
    told = "; ".join(f"{name} {value:.2f}" for name, value in zip(names, values, strict=True))
    return Figure("effective-producers", title, f"{told}.", svg)


def memory_sizes(memory: MemoryCurve) -> Figure:
    """Success and steps over the share of the memory that is seen."""
    title = "Success and steps by memory size"
    with canvas(_WIDTH, 2.7) as figure:
        left, right = figure.subplots(1, 2)
        _curve(left, memory.points, "success rate, %", 100.0, [p.success for p in memory.points])
        _curve(right, memory.points, "steps", 1.0, [p.steps for p in memory.points])
        svg = to_svg(figure, "memory-sizes", title)
    told = "; ".join(
        f"{formats.percent(p.fraction)} %: {formats.written(p.success, formats.percent, ' %').text}"
        for p in memory.points
    )
    return Figure("memory-sizes", title, f"{told}.", svg)


def importance_by_category(shares: Sequence[CategoryShare]) -> Figure:
    """Share of SHAP values by feature category, one bar a ranker."""
    title = "What rankers go by: share of SHAP values by category"
    rankers = list(dict.fromkeys(share.ranker for share in shares))
    with canvas(_WIDTH, 1.0 + 0.34 * len(rankers)) as figure:
        axes = figure.subplots()
        start = dict.fromkeys(rankers, 0.0)
        for place, category in enumerate(Category):
            mine = {share.ranker: share.shap for share in shares if share.category == category}
            widths = [100 * mine.get(ranker, 0.0) for ranker in rankers]
            left = [start[ranker] for ranker in rankers]
            axes.barh(
                rankers, widths, left=left, height=0.6, color=arm_colour(place), label=category
            )
            start = {r: start[r] + w for r, w in zip(rankers, widths, strict=True)}
        axes.invert_yaxis()
        axes.set(xlabel="%", xlim=(0, 100))
        axes.grid(axis="y", visible=False)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0)
        svg = to_svg(figure, "importance", title)
    told = "; ".join(f"{s.ranker}, {s.category}: {formats.percent(s.shap)} %" for s in shares)
    return Figure("importance", title, f"{told}.", svg)


def _curve(
    axes: "Axes",
    points: Sequence[MemoryPoint],
    label: str,
    factor: float,
    estimates: Sequence[Estimate],
) -> None:
    known = [
        (100 * point.fraction, factor * estimate.value, estimate)
        for point, estimate in zip(points, estimates, strict=True)
        if estimate.value is not None
    ]
    for at, _, estimate in known:
        if estimate.low is not None and estimate.high is not None:
            ends = (factor * estimate.low, factor * estimate.high)
            axes.plot((at, at), ends, color=arm_colour(1), linewidth=1.2)
    axes.plot(
        [at for at, _, _ in known], [value for _, value, _ in known], "o-", color=arm_colour(1)
    )
    axes.set(xlabel="memory, %", ylim=(0, None))
    axes.set_title(label, loc="left", fontsize=9, color=MUTED)


def _point(axes: "Axes", estimate: Estimate, height: float, colour: str) -> None:
    if estimate.value is None:
        return
    if estimate.low is not None and estimate.high is not None:
        ends = (100 * estimate.low, 100 * estimate.high)
        axes.plot(ends, (height, height), color=colour, linewidth=1.4)
    axes.plot(100 * estimate.value, height, "o", color=colour, markersize=6)
