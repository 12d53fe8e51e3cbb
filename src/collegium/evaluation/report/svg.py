"""Matplotlib figures as SVG that lives inside a page: same bytes for same data, light and dark.

Colours are written as CSS variables with a fallback, so the page's theme sets them and the SVG
still reads well alone. Text stays text. Ids get the figure's name, because a page holds several.
"""

import io
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from collegium.core import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

INK, MUTED, RULE = "#010101", "#020202", "#030303"
"""Stand-ins that `to_svg` replaces by CSS variables."""
ARMS = ("#0a0a00", "#0a0a01", "#0a0a02", "#0a0a03", "#0a0a04", "#0a0a05")
"""Stand-ins for the arms' colours, baseline first; they repeat after six."""

_VARIABLES: Mapping[str, str] = {
    INK: "var(--ink, #1c2430)",
    MUTED: "var(--muted, #5c6773)",
    RULE: "var(--rule, #d9dee4)",
    ARMS[0]: "var(--arm-0, #66717e)",
    ARMS[1]: "var(--arm-1, #0b7285)",
    ARMS[2]: "var(--arm-2, #b35309)",
    ARMS[3]: "var(--arm-3, #6741d9)",
    ARMS[4]: "var(--arm-4, #c2255c)",
    ARMS[5]: "var(--arm-5, #2b8a3e)",
}


class Figure(NamedTuple):
    """A drawn figure with the words that stand for it where it cannot be seen."""

    name: str
    title: str
    alt: str
    svg: Markup


def arm_colour(place: int) -> str:
    """Return the stand-in colour of the arm at `place` of the summary's order."""
    return ARMS[place % len(ARMS)]


@contextmanager
def canvas(width: float, height: float) -> "Iterator[Canvas]":
    """Give an empty figure of `width` x `height` inches in the house style.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise MissingDependencyError(
            "figures need matplotlib: pip install 'collegium[report]'"
        ) from error
    with rc_context(_STYLE), warnings.catch_warnings():
        # Text is drawn by the reader's fonts, so a glyph that ours lacks is no loss.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield Canvas(figsize=(width, height), layout="constrained")


def to_svg(figure: "Canvas", name: str, title: str) -> Markup:
    """Return `figure` as an inline SVG element whose accessible name is `title`."""
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(?<=\bid=")|(?<=url\(#)|(?<=href="#)', f"{name}-", text)
    label = Markup.escape(title)
    text = text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
    for stand_in, variable in _VARIABLES.items():
        text = text.replace(stand_in, variable)
    return Markup(text)


_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "collegium",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": INK,
    "axes.edgecolor": RULE,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "xtick.color": RULE,
    "xtick.labelcolor": MUTED,
    "ytick.color": RULE,
    "ytick.labelcolor": INK,
    "ytick.left": False,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
}
