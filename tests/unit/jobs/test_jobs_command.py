"""The command line of the pipelines."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from collegium.core import BudgetExceededError
from collegium.runtime.jobs.build_memory import build_memory
from collegium.runtime.jobs.command import RunOptions, execute, read_config
from collegium.runtime.jobs.configs import BuildMemoryConfig
from collegium.runtime.jobs.evaluate_agents import evaluate_agents
from collegium.runtime.jobs.pipelines import BUILD_MEMORY, EVALUATE_AGENTS

ROOT = Path(__file__).resolve().parents[3]
CI = ROOT / "configs" / "ci"
BUILD, EVALUATE = str(CI / "build_memory.yaml"), str(CI / "evaluate_agents.yaml")


@pytest.fixture
def memory_job(in_process):
    return in_process(BUILD_MEMORY, build_memory)


@pytest.fixture
def evaluation_job(in_process):
    return in_process(EVALUATE_AGENTS, evaluate_agents)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_both_pipelines_from_configuration_to_tables(memory_job, evaluation_job, capsys):
    assert execute(memory_job, RunOptions(BUILD, run="runs/ci/memory")) == 0
    assert "chunks by partition: D0" in capsys.readouterr().out
    assert execute(evaluation_job, RunOptions(EVALUATE, as_json=True)) == 0
    summary = json.loads(capsys.readouterr().out)
    assert [arm["arm"] for arm in summary["arms"]] == ["no_retrieval", "retrieval", "expert"]
    (run,) = Path("runs").glob("evaluate_agents-*")
    assert (run / "report.html").is_file()


def test_a_run_directory_in_place_of_a_configuration_goes_on(memory_job):
    run = "runs/ci/memory"
    stops = ("execution.budget.max_tokens=300", "execution.concurrency=1")
    options = RunOptions(BUILD, stops, run)
    with pytest.raises(BudgetExceededError, match="resume it with a larger one"):
        execute(memory_job, options)
    assert read_config(BuildMemoryConfig, RunOptions(run)).execution.concurrency == 1
    assert execute(memory_job, RunOptions(run, ("execution.budget.max_tokens=null",))) == 0
    assert len(list(Path(run, "attempts").iterdir())) == 2
    assert not list(Path("runs").glob("build_memory-*"))


def test_a_dry_run_starts_nothing(memory_job, tmp_path, capsys):
    assert execute(memory_job, RunOptions(BUILD, dry_run=True)) == 0
    printed = yaml.safe_load(capsys.readouterr().out)
    assert printed["partitions"] == 2
    assert printed["estimate"]["episodes"] == 4
    assert printed["estimate"]["assumptions"]
    assert execute(memory_job, RunOptions(BUILD, dry_run=True, as_json=True)) == 0
    assert json.loads(capsys.readouterr().out)["estimate"]["tasks"] == 4
    assert not list(tmp_path.iterdir())


SHELL = str(ROOT / "pipelines" / "build_memory.py")


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["nowhere.yaml"], "not_found", 3),
        ([BUILD, "-s", "unknown=1"], "config", 2),
        ([BUILD, "-s", "execution.ray_address=127.0.0.1:1"], "config", 2),
        ([BUILD, "--no-such-option"], "usage", 2),
    ],
)
def test_a_shell_tells_errors_as_the_command_line_does(arguments, code, exit_code):
    path = os.pathsep.join([str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, SHELL, *arguments, "--json"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        timeout=120,
        check=False,
    )
    assert ended.returncode == exit_code, ended.stderr
    assert json.loads(ended.stdout)["error"]["code"] == code
    assert "Traceback" not in ended.stderr
