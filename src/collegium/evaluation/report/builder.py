"""From a run directory to its report; what the command line calls."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from pydantic import ValidationError

from collegium.core import CorruptDataError, Episode
from collegium.evaluation.arms import read_arms
from collegium.evaluation.growth import GROWTH, GrowthRow
from collegium.evaluation.outcomes import read_episodes, read_lost_attempts
from collegium.evaluation.published import published_references
from collegium.evaluation.records import REFERENCES, Reference, Summary
from collegium.evaluation.report.figures import figures
from collegium.evaluation.report.page import render_page
from collegium.evaluation.report.payload import EpisodePayload
from collegium.evaluation.report.run_info import read_run_info
from collegium.evaluation.summary import summarise
from collegium.store import RunDirectory

_SUMMARY = "summary.json"


class Report(NamedTuple):
    """The page and the summary it shows."""

    html: str
    summary: Summary


def build(path: str) -> Summary:
    """Write `report.html` and `summary.json` into the run directory at `path`.

    Raises:
        NotFoundError: `path` is no run directory.
        InvalidInputError: it holds no episodes, or two for one arm and task-run.
        CorruptDataError: a row is not of this version.
    """
    run = RunDirectory(path)
    report = _render(run)
    run.write_text("report.html", report.html)
    run.write_text(_SUMMARY, report.summary.model_dump_json(indent=1))
    return report.summary


def read_summary(run: RunDirectory) -> Summary:
    """Evaluate the run's episodes with its growth and reference rows; raises as `build` does."""
    return _evaluate(run, read_episodes(run))


def stored_summary(run: RunDirectory) -> Summary | None:
    """Return what `build` found when it last looked, None where it never did.

    Raises:
        CorruptDataError: `summary.json` is not of this version.
    """
    if not run.exists(_SUMMARY):
        return None
    try:
        return Summary.model_validate_json(run.read_text(_SUMMARY))
    except ValidationError as error:
        raise CorruptDataError(
            f"{run.path}/{_SUMMARY} is no summary of this version ({error}): "
            f"`collegium report {run.path}` writes it anew"
        ) from None


def _render(run: RunDirectory) -> Report:
    info = read_run_info(run)
    payload = EpisodePayload()
    summary = _evaluate(run, payload.collect(read_episodes(run)))
    episodes = payload.to_json([arm.arm for arm in summary.arms])
    html = render_page(summary, info, figures(summary), episodes)
    return Report(html, summary)


def _evaluate(run: RunDirectory, episodes: Iterable[Episode]) -> Summary:
    growth = [GrowthRow.model_validate(_without_key(row)) for row in run.rows(GROWTH)]
    measured = [Reference.model_validate(_without_key(row)) for row in run.rows(REFERENCES)]
    arms = list(read_arms(run))
    summary = summarise(
        episodes,
        lost=read_lost_attempts(run),
        growth=growth,
        references=measured,
        order=[note.key for note in arms],
    )
    published = published_references(summary.environments)
    return summary.model_copy(
        update={
            "references": (*summary.references, *published),
            "not_played": {note.key: note.refused for note in arms if note.refused},
        }
    )


def _without_key(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "key"}
