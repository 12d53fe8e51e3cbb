"""Puts several evaluations together: the paper's analyses and what became of its findings.

It only reads. The run directory gets `study.json` (everything as data), `study.md` (the tables),
`report.html`, and `figures/`; a second start writes them anew from what is there then.
"""

import asyncio
from typing import Literal

from pydantic import Field

from collegium.core import Record
from collegium.evaluation.analyses.figures import study_figures
from collegium.evaluation.analyses.page import study_markdown, study_page
from collegium.evaluation.analyses.study import STUDY, Study, StudyRuns, study
from collegium.evaluation.report.run_info import read_run_info
from collegium.runtime.jobs.configs import JobConfig
from collegium.runtime.jobs.progress import ConsoleProgress
from collegium.store import RunDirectory


class AnalyseEvaluationsConfig(JobConfig):
    """Configuration of `analyse_evaluations`."""

    pipeline: Literal["analyse_evaluations"] = "analyse_evaluations"
    main: tuple[str, ...] = Field(min_length=1)
    """Run directories of the main table: no retrieval, similarity, each ranker."""
    modes: tuple[str, ...] = ()
    """Run directories with other modes, on the same games and agents."""
    scopes: tuple[str, ...] = ()
    """Run directories with the arms `full`, `same_task` and `cross_task`."""
    memory_sizes: tuple[str, ...] = ()
    """Run directories with arms that see fractions of the memory."""
    rankers: str | None = None
    """Run directory of `train_rerankers`, for what rankers go by."""
    seed: int = 0
    """Seed of the bootstraps."""


class AnalysisEstimate(Record):
    """What the analysis will read."""

    runs: int
    minutes: float
    assumptions: tuple[str, ...]


def estimate_analysis(config: AnalyseEvaluationsConfig) -> AnalysisEstimate:
    """Return what `analyse_evaluations` will take."""
    runs = sum(map(len, (config.main, config.modes, config.scopes, config.memory_sizes)))
    return AnalysisEstimate(
        runs=runs,
        minutes=round(0.2 * runs, 1),
        assumptions=("12 s a run of some hundred episodes; nothing is played",),
    )


async def analyse_evaluations(
    config: AnalyseEvaluationsConfig, run: RunDirectory, progress: ConsoleProgress
) -> Study:
    """Read the runs, write what they say together, and return it.

    Raises:
        NotFoundError: A run is not there.
        InvalidInputError: The runs do not go together.
        MissingDependencyError: matplotlib is not installed.
    """
    progress.stage("analyses")
    found = await asyncio.to_thread(study, _runs(config), seed=config.seed)
    progress.stage("figures")
    figures = study_figures(found)
    for figure in figures:
        run.write_text(f"figures/{figure.name}.svg", str(figure.svg))
    run.write_text(STUDY, found.model_dump_json(indent=1))
    run.write_text("study.md", study_markdown(found))
    run.write_text("report.html", study_page(found, read_run_info(run), figures))
    run.finish()
    return found


def _runs(config: AnalyseEvaluationsConfig) -> StudyRuns:
    return StudyRuns(
        main=_opened(config.main),
        modes=_opened(config.modes),
        scopes=_opened(config.scopes),
        memory_sizes=_opened(config.memory_sizes),
        rankers=next(iter(_opened((config.rankers,))), None) if config.rankers else None,
    )


def _opened(paths: tuple[str, ...]) -> list[RunDirectory]:
    """Return the run directories; raise NotFoundError for one that is none."""
    runs = [RunDirectory(path) for path in paths]
    for run in runs:
        run.read_text("digest.txt")
    return runs
