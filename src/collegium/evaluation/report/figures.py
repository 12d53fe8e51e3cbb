"""The figures of a report, each drawn from the summary alone.

Points are estimates, thin lines their intervals. Arms keep their colour through all figures.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from collegium.evaluation import formats
from collegium.evaluation.records import ArmSummary, Estimate, GroupSummary, Summary
from collegium.evaluation.report.svg import INK, MUTED, RULE, Figure, arm_colour, canvas, to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH = 6.2
_LONGEST_NAME = 32


def figures(summary: Summary) -> tuple[Figure, ...]:
    """Return all figures that the summary has data for."""
    drawn = [success_by_arm(summary), solved_within_steps(summary)]
    if summary.by_task_type:
        drawn.append(success_by_task_type(summary))
    if summary.by_consumer and len(summary.compared) > 1:
        drawn.append(success_by_consumer(summary))
    if any(arm.tokens_per_solved.value for arm in summary.arms):
        drawn.append(tokens_per_solved(summary))
    if summary.growth:
        drawn.append(corpus_growth(summary))
    return tuple(drawn)


def success_by_arm(
    summary: Summary, name: str = "success", title: str = "Success rate by arm"
) -> Figure:
    """Success rate of each arm, reference arms included."""
    return _arm_points(
        [(place, arm) for place, arm in enumerate(summary.arms) if arm.task_runs],
        name,
        title,
        "success rate, %",
        lambda arm: _scaled(arm.success_rate, 100),
        formats.decimal,
    )


def tokens_per_solved(summary: Summary) -> Figure:
    """Tokens per solved task-run of each arm that spends tokens and solves something."""
    return _arm_points(
        [(place, arm) for place, arm in enumerate(summary.arms) if arm.tokens_per_solved.value],
        "tokens",
        "Tokens per solved task-run",
        "tokens spent / task-runs solved",
        lambda arm: arm.tokens_per_solved,
        formats.whole,
    )


def success_by_task_type(summary: Summary) -> Figure:
    """Success rate of each compared arm by task type, on the same task-runs."""
    return _group_points(
        summary, summary.by_task_type, "types", "Success rate by task type", intervals=True
    )


def success_by_consumer(summary: Summary) -> Figure:
    """Success rate of each compared arm by consumer: a dumbbell for each."""
    ordered = sorted(summary.by_consumer, key=lambda g: g.arms[0].success_rate.value or 0.0)
    return _group_points(
        summary, ordered[::-1], "consumers", "Success rate by consumer", intervals=False
    )


def solved_within_steps(summary: Summary) -> Figure:
    """Share of task-runs solved within k steps: how soon, and how many in the end."""
    title = "Solved within k steps"
    longest = 1 + max(len(arm.solved_by_step) for arm in summary.arms)
    with canvas(_WIDTH, 2.9) as figure:
        axes = figure.subplots()
        for place, arm in enumerate(summary.arms):
            if not arm.task_runs:
                continue
            counts = [*arm.solved_by_step, *[arm.solved] * (longest - len(arm.solved_by_step))]
            axes.step(
                range(len(counts)),
                [100 * count / arm.task_runs for count in counts],
                where="post",
                color=arm_colour(place),
                linestyle="--" if arm.role == "reference" else "-",
                label=_short(arm.arm),
            )
        axes.set(xlabel="steps", ylabel="task-runs solved, %", xlim=(0, None), ylim=(0, None))
        _legend(axes)
        svg = to_svg(figure, "steps", title)
    alt = "; ".join(
        f"{arm.arm}: {formats.plural(arm.solved, 'task-run')} of {arm.task_runs} in the end"
        for arm in summary.arms
    )
    return Figure("steps", title, f"Cumulative curves. {alt}.", svg)


def corpus_growth(summary: Summary) -> Figure:
    """Chunks in D_0 .. D_P, and the producers they come from in effect."""
    title = "Corpus growth"
    rows = summary.growth
    names = [f"D{row.partition}" for row in rows]
    with canvas(_WIDTH, 2.6) as figure:
        left, right = figure.subplots(1, 2)
        left.bar(names, [row.chunks for row in rows], color=arm_colour(1), width=0.6)
        left.set_title("chunks", loc="left", fontsize=9, color=MUTED)
        right.plot(names, [r.effective_producers for r in rows], "o-", color=arm_colour(1))
        right.plot(names, [r.producers for r in rows], "o:", color=arm_colour(0))
        right.set_title("producers: all (dotted), effective", loc="left", fontsize=9, color=MUTED)
        right.set_ylim(0, None)
        for axes in (left, right):
            axes.grid(axis="x", visible=False)
            _few_ticks(axes, len(names))
        svg = to_svg(figure, "growth", title)
    first, last = rows[0], rows[-1]
    alt = (
        f"From {formats.plural(first.chunks, 'chunk')} to {formats.whole(last.chunks)}; effective "
        f"producers from {first.effective_producers:.2f} to {last.effective_producers:.2f}."
    )
    return Figure("growth", title, alt, svg)


def _arm_points(
    arms: Sequence[tuple[int, ArmSummary]],
    name: str,
    title: str,
    unit: str,
    of: Callable[[ArmSummary], Estimate],
    form: Callable[[float], str],
) -> Figure:
    """Draw one point with its interval for each of `arms`, given with their colours' places."""
    with canvas(_WIDTH, 0.75 + 0.42 * max(len(arms), 1)) as figure:
        axes = figure.subplots()
        for height, (place, arm) in enumerate(arms):
            hollow = arm.role == "reference"
            _point(axes, of(arm), height, arm_colour(place), hollow=hollow)
        _rows(axes, [_short(arm.arm) for _, arm in arms])
        axes.set(xlabel=unit, xlim=(0, None))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        svg = to_svg(figure, name, title)
    values = (f"{arm.arm} {formats.written(of(arm), form).text}" for _, arm in arms)
    return Figure(name, title, f"{unit}: {'; '.join(values)}.", svg)


def _group_points(
    summary: Summary, groups: Sequence[GroupSummary], name: str, title: str, *, intervals: bool
) -> Figure:
    """Draw the arms of each group on one line (a dumbbell), or stacked with their intervals."""
    arms = [arm.arm for arm in summary.compared]
    spread = 0.18 if intervals else 0.0
    with canvas(_WIDTH, 1.0 + (0.46 if intervals else 0.32) * len(groups)) as figure:
        axes = figure.subplots()
        for height, group in enumerate(groups):
            rates = [_scaled(arm.success_rate, 100) for arm in group.arms]
            known = [rate.value for rate in rates if rate.value is not None]
            if not intervals:
                axes.plot((min(known), max(known)), (height, height), color=RULE, linewidth=3)
            for place, rate in enumerate(rates):
                at = height + spread * (place - (len(rates) - 1) / 2)
                _point(axes, rate, at, arm_colour(place), interval=intervals)
        for place, arm in enumerate(arms):
            axes.plot([], [], "o", color=arm_colour(place), label=_short(arm))
        _rows(axes, [f"{_short(g.group)}  ({g.arms[0].task_runs})" for g in groups])
        axes.set(xlabel="success rate, %", xlim=(0, None))
        _legend(axes)
        svg = to_svg(figure, name, title)
    return Figure(name, title, _group_alt(groups), svg)


def _group_alt(groups: Sequence[GroupSummary]) -> str:
    lines = (
        f"{group.group}: "
        + ", ".join(
            f"{arm.arm} {formats.written(arm.success_rate, formats.percent, ' %').text}"
            for arm in group.arms
        )
        for group in groups
    )
    return "; ".join(lines) + "."


def _point(
    axes: "Axes",
    estimate: Estimate,
    height: float,
    colour: str,
    *,
    hollow: bool = False,
    interval: bool = True,
) -> None:
    if estimate.value is None:
        return
    if interval and estimate.low is not None and estimate.high is not None:
        axes.plot((estimate.low, estimate.high), (height, height), color=colour, linewidth=1.4)
    face = "none" if hollow else colour
    axes.plot(estimate.value, height, "o", color=colour, markerfacecolor=face, markersize=6)


def _rows(axes: "Axes", names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)


def _short(name: str) -> str:
    """Cut a long name: the table beside the figure has it in full."""
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _few_ticks(axes: "Axes", count: int) -> None:
    every = -(-count // 8)
    axes.set_xticks(range(0, count, every))


def _legend(axes: "Axes") -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0, labelcolor=INK)


def _scaled(estimate: Estimate, factor: float) -> Estimate:
    ends = (estimate.value, estimate.low, estimate.high)
    value, low, high = (None if x is None else factor * x for x in ends)
    return Estimate(value=value, low=low, high=high)
