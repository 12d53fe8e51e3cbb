"""From a run directory to its report; what the command line calls."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from collegium.core import CorruptDataError, Episode, Record
from collegium.evaluation.arms import read_arms
from collegium.evaluation.gate import judge_models
from collegium.evaluation.growth import GROWTH, GrowthRow
from collegium.evaluation.outcomes import pooled_episodes, read_episodes, read_lost_attempts
from collegium.evaluation.published import published_references
from collegium.evaluation.records import REFERENCES, Reference, Summary
from collegium.evaluation.report.figures import figures
from collegium.evaluation.report.page import render_page
from collegium.evaluation.report.payload import EpisodePayload
from collegium.evaluation.report.run_info import read_run_info
from collegium.evaluation.summary import summarise
from collegium.store import RunDirectory

_SUMMARY = "summary.json"

R = TypeVar("R", bound=Record)


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


def read_summary(*runs: RunDirectory) -> Summary:
    """Evaluate the episodes of runs that go together, with their growth and reference rows.

    Raises as `build` does.
    """
    return _evaluate(runs, pooled_episodes(runs))


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
    summary = _evaluate([run], payload.collect(read_episodes(run)))
    episodes = payload.to_json([arm.arm for arm in summary.arms])
    html = render_page(summary, info, figures(summary), episodes)
    return Report(html, summary)


def _evaluate(runs: Sequence[RunDirectory], episodes: Iterable[Episode]) -> Summary:
    measured = [row for run in runs for row in _records(run, REFERENCES, Reference)]
    arms = list({note.key: note for run in runs for note in read_arms(run)}.values())
    summary = summarise(
        episodes,
        lost=chain.from_iterable(map(read_lost_attempts, runs)),
        growth=read_growth(runs),
        references=measured,
        order=[note.key for note in arms],
    )
    published = published_references(summary.environments)
    return summary.model_copy(
        update={
            "references": (*summary.references, *published),
            "gate": judge_models(runs),
            "not_played": {note.key: note.refused for note in arms if note.refused},
        }
    )


def read_growth(runs: Iterable[RunDirectory]) -> list[GrowthRow]:
    """Return the growth of the memory that the runs have in common."""
    rows = {row.partition: row for run in runs for row in _records(run, GROWTH, GrowthRow)}
    return list(rows.values())


def _records(run: RunDirectory, table: str, model: type[R]) -> Iterator[R]:
    for row in run.rows(table):
        yield model.model_validate({name: row[name] for name in row if name != "key"})
