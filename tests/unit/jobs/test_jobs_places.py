"""A run directory may be anywhere: in memory, on another disk, behind an address."""

import json
import tempfile
import uuid
from pathlib import Path

import pytest

from collegium.cli import main
from collegium.core import (
    BudgetExceededError,
    ConfigError,
    InvalidInputError,
    MissingDependencyError,
)
from collegium.evaluation import read_episodes
from collegium.runtime.jobs.build_memory import build_memory
from collegium.runtime.jobs.command import RunOptions, execute
from collegium.runtime.jobs.evaluate_agents import evaluate_agents
from collegium.runtime.jobs.pipelines import BUILD_MEMORY, EVALUATE_AGENTS
from collegium.store import RunDirectory

CI = Path(__file__).resolve().parents[3] / "configs" / "ci"
BUILD, EVALUATE = str(CI / "build_memory.yaml"), str(CI / "evaluate_agents.yaml")
STOP = ("execution.budget.max_tokens=20000", "execution.concurrency=2")
GO_ON = ("execution.budget.max_tokens=null",)
_OTHER_DISK = Path("/dev/shm")


@pytest.fixture(params=["memory", "file-url", "other-disk"])
def place(request, tmp_path):
    match request.param:
        case "memory":
            yield f"memory://runs-{uuid.uuid4().hex}/evaluation"
        case "file-url":
            yield f"file://{tmp_path}/evaluation"
        case _:
            if not _OTHER_DISK.is_dir() or _OTHER_DISK.stat().st_dev == tmp_path.stat().st_dev:
                pytest.skip("needs a second file system")
            with tempfile.TemporaryDirectory(dir=_OTHER_DISK) as folder:
                yield f"{folder}/evaluation"


@pytest.fixture(autouse=True)
def _built(in_process, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    memory_job = in_process(BUILD_MEMORY, build_memory)
    assert execute(memory_job, RunOptions(BUILD, run="runs/ci/memory")) == 0


@pytest.fixture
def evaluation(in_process):
    return in_process(EVALUATE_AGENTS, evaluate_agents)


def episodes(run):
    return sorted(episode.key for episode in read_episodes(RunDirectory(run)))


def test_an_evaluation_stops_and_goes_on_anywhere(place, evaluation, capsys):
    with pytest.raises(BudgetExceededError):
        execute(evaluation, RunOptions(EVALUATE, STOP, place))
    before = episodes(place)
    assert 8 < len(before) < 40
    capsys.readouterr()
    assert execute(evaluation, RunOptions(place, GO_ON, as_json=True)) == 0
    summary = json.loads(capsys.readouterr().out)
    keys = episodes(place)
    assert len(keys) == len(set(keys)) == 8 * 2 * 2 + 8
    assert set(before) < set(keys)
    run = RunDirectory(place)
    assert len(run.attempts()) == 2
    assert json.loads(run.read_text("summary.json")) == summary
    manifest = run.manifest()
    assert manifest.rows["episodes"] == len(keys)
    for name in manifest.files:
        manifest.check(name, run.read_bytes(name), place)


def test_where_it_lies_changes_nothing(place, evaluation, capsys):
    assert execute(evaluation, RunOptions(EVALUATE, run=place, as_json=True)) == 0
    there = json.loads(capsys.readouterr().out)
    assert execute(evaluation, RunOptions(EVALUATE, run="runs/here", as_json=True)) == 0
    assert json.loads(capsys.readouterr().out) == there
    assert main(["report", place, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == there
    games = [RunDirectory(r).attempts()[0].versions["game_data"] for r in (place, "runs/here")]
    assert games[0] == games[1]


def test_a_memory_must_be_on_a_disk(evaluation):
    with pytest.raises(ConfigError, match="must be on a disk"):
        execute(evaluation, RunOptions(EVALUATE, ("memory=memory://away",), "runs/here"))


def test_an_address_that_nothing_can_read(evaluation):
    with pytest.raises(InvalidInputError, match="nonsense"):
        execute(evaluation, RunOptions(EVALUATE, run="nonsense://there"))
    with pytest.raises(MissingDependencyError):
        execute(evaluation, RunOptions(EVALUATE, run="s3://there/run"))
