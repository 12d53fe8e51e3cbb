"""What rankers go by, drawn: the features that matter most, by three measures side by side."""

from collections.abc import Sequence

from collegium.evaluation.report.svg import MUTED, Figure, arm_colour, canvas, to_svg
from collegium.ranking.importance import Importance

_SHOWN = 15
_MEASURES = (
    ("gain", "gain (share)"),
    ("permutation", "NDCG lost when shuffled"),
    ("shap", "mean |SHAP|"),
)


def importance_figure(rows: Sequence[Importance]) -> Figure:
    """Draw the features with the highest SHAP values of one ranker.

    Args:
        rows: Of one ranker; a measure that it lacks leaves its panel empty.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    shown = sorted(rows, key=lambda row: row.shap, reverse=True)[:_SHOWN][::-1]
    ranker = rows[0].ranker
    title = f"What {ranker} goes by"
    with canvas(9.5, 4.2) as figure:
        panels = figure.subplots(1, len(_MEASURES), sharey=True)
        for panel, (measure, label), colour in zip(panels, _MEASURES, range(3), strict=True):
            values = [getattr(row, measure) or 0.0 for row in shown]
            panel.barh([row.feature for row in shown], values, color=arm_colour(colour))
            panel.axvline(0, color=MUTED, linewidth=0.7)
            panel.set_xlabel(label)
            panel.grid(axis="y", visible=False)
        svg = to_svg(figure, f"importance-{ranker}", title)
    best = ", ".join(row.feature for row in shown[::-1][:3])
    return Figure(f"importance-{ranker}", title, f"{title}: first {best}.", svg)
