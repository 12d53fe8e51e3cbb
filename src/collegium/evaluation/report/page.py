"""The page: one HTML file that asks nothing of the network and runs one script, its own.

Everything that came from a model, an environment or a file goes through autoescaping or the JSON
block. A content-security policy admits the page's script by its hash and nothing else, so text that
slipped through would still be dead.
"""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from collegium.evaluation import formats
from collegium.evaluation.findings import findings
from collegium.evaluation.formats import Written, written
from collegium.evaluation.records import Summary
from collegium.evaluation.report.run_info import RunInfo
from collegium.evaluation.report.svg import Figure
from collegium.evaluation.tables import tables


class Tile(NamedTuple):
    """A number of the headline."""

    label: str
    shown: Written


def render_page(
    summary: Summary, run: RunInfo, drawn: Sequence[Figure], episodes_json: Markup
) -> str:
    """Return the whole page as text."""
    script = _asset("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return page_template("report.html.j2").render(
        summary=summary,
        run=run,
        tiles=headline(summary),
        findings=findings(summary),
        tables=tables(summary),
        figures=drawn,
        arms=[arm.arm for arm in summary.arms],
        totals=_totals(summary, run),
        episodes_json=episodes_json,
        style=page_style(),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )


def page_template(name: str) -> Template:
    """Return a template of this package; values are escaped, and missing ones an error."""
    environment = Environment(
        loader=PackageLoader("collegium.evaluation.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def page_style() -> Markup:
    """Return the style sheet of all pages."""
    return Markup(_asset("report.css"))


def headline(summary: Summary) -> tuple[Tile, ...]:
    """Return the numbers to read first: those of the baseline and of the first other arm."""
    base = summary.baseline
    arm = summary.compared[1] if len(summary.compared) > 1 else base
    tiles = [Tile(f"success, {base.arm}", written(base.success_rate, formats.percent, " %"))]
    if arm.change:
        change = arm.change
        rate = written(arm.success_rate, formats.percent, " %")
        tokens = written(change.tokens_per_solved, formats.change, " %")
        tiles += [
            Tile(f"success, {arm.arm}", rate),
            Tile("paired difference, points", written(change.success_rate, formats.points)),
            Tile("tokens per solved, change", tokens),
        ]
    if arm.rpp:
        tiles.append(Tile(f"RPP, {arm.arm}", written(arm.rpp.estimate, formats.preference)))
    if arm.prefix_hit_rate is not None:
        hits = Written(f"{formats.percent(arm.prefix_hit_rate)} %")
        tiles.append(Tile(f"prefix hits, {arm.arm}", hits))
    return tuple(tiles)


def _totals(summary: Summary, run: RunInfo) -> tuple[tuple[str, str], ...]:
    episodes = sum(arm.episodes for arm in summary.arms)
    tokens = sum(arm.usage.tokens for arm in summary.arms)
    cost = sum(arm.usage.cost for arm in summary.arms)
    starts = f" ({formats.plural(run.attempts, 'start')})" if run.attempts > 1 else ""
    return (
        ("configuration", run.digest),
        ("started", run.started + starts),
        ("time at work", formats.duration(run.seconds)),
        ("episodes", formats.whole(episodes)),
        ("tokens", formats.whole(tokens)),
        ("cost", formats.money(cost)),
        ("machine", run.machine),
        ("versions", " · ".join(f"{name} {version}" for name, version in run.versions)),
    )


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
