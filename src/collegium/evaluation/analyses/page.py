"""A study as a page and as Markdown."""

from collections.abc import Sequence

from collegium.evaluation.analyses.study import Study
from collegium.evaluation.analyses.tables import study_tables
from collegium.evaluation.rendering import to_markdown
from collegium.evaluation.report.page import page_style, page_template
from collegium.evaluation.report.run_info import RunInfo
from collegium.evaluation.report.svg import Figure


def study_page(study: Study, run: RunInfo, drawn: Sequence[Figure]) -> str:
    """Return the whole page as text; it runs no script and asks nothing of the network."""
    return page_template("study.html.j2").render(
        run=run,
        summary=study.main,
        tables=study_tables(study),
        figures=drawn,
        arms=[arm.arm for arm in study.main.arms],
        style=page_style(),
    )


def study_markdown(study: Study) -> str:
    """Return all tables of the study, GitHub-style."""
    return "\n".join(to_markdown(table) for table in study_tables(study))
