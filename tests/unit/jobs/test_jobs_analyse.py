"""The analyses as a job: what it leaves, and what it says about runs that are not there."""

import asyncio
import io
from pathlib import Path

import pytest
from rich.console import Console
from synthetic_studies import study_runs

from collegium.core import NotFoundError, SystemClock
from collegium.evaluation.analyses.study import read_study
from collegium.runtime.jobs.analyse_evaluations import (
    AnalyseEvaluationsConfig,
    analyse_evaluations,
    estimate_analysis,
)
from collegium.runtime.jobs.progress import ConsoleProgress
from collegium.runtime.jobs.showing import show_study
from collegium.store import RunDirectory

pytest.importorskip("matplotlib")


def analysed(config, folder):
    progress = ConsoleProgress(Console(file=io.StringIO()), SystemClock())
    run = RunDirectory(str(folder)).open(config)
    return asyncio.run(analyse_evaluations(config, run, progress)), run


@pytest.fixture
def config(tmp_path):
    paths = {
        name: tuple(run.path for run in runs)
        for name, runs in study_runs(tmp_path)._asdict().items()
        if runs
    }
    return AnalyseEvaluationsConfig(**paths)


def test_it_leaves_data_tables_page_and_figures(config, tmp_path):
    found, run = analysed(config, tmp_path / "analysis")
    assert read_study(run) == found
    assert "**Findings of the paper**" in run.read_text("study.md")
    assert "Retrieval scopes" in run.read_text("report.html")
    drawn = {file.stem for file in Path(run.path, "figures").iterdir()}
    assert {"success", "modes", "advantage", "scopes", "memory-sizes"} <= drawn
    out = io.StringIO()
    show_study(found, Console(file=out, width=200))
    assert "• confirmed: Retrieval solves more than no retrieval." in out.getvalue()


def test_a_second_start_reads_what_is_there_then(config, tmp_path):
    first, run = analysed(config, tmp_path / "analysis")
    again, _ = analysed(config, tmp_path / "analysis")
    assert again == first
    assert len(run.starts()) == 2


def test_a_run_that_is_not_there_is_named(config, tmp_path):
    missing = config.model_copy(update={"scopes": (str(tmp_path / "nowhere"),)})
    with pytest.raises(NotFoundError, match="nowhere"):
        analysed(missing, tmp_path / "analysis")


def test_the_estimate_counts_runs():
    assert estimate_analysis(AnalyseEvaluationsConfig(main=("a", "b"), modes=("c",))).runs == 3
