"""Every configuration under `configs/` passes the dry run of its pipeline, or is a population."""

from pathlib import Path

import pytest
import yaml

from collegium.agents.populations import load_population
from collegium.runtime.jobs import pipelines
from collegium.runtime.jobs.command import Job, RunOptions, execute

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = sorted((ROOT / "configs").glob("*/*.yaml"))
JOBS = {job.name: job for job in vars(pipelines).values() if isinstance(job, Job)}


@pytest.mark.parametrize("file", CONFIGS, ids=lambda f: f"{f.parent.name}/{f.stem}")
def test_configuration_passes_its_dry_run(file, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    if file.parent.name == "populations":
        assert load_population(file)
        return
    pipeline = yaml.safe_load(file.read_text(encoding="utf-8"))["pipeline"]
    assert execute(JOBS[pipeline], RunOptions(str(file), dry_run=True)) == 0, (
        capsys.readouterr().err
    )
