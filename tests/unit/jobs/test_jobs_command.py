"""The command line of the pipelines."""

import json
from pathlib import Path

import pytest
import yaml

from collegium.core import BudgetExceededError
from collegium.runtime.jobs.build_memory import build_memory
from collegium.runtime.jobs.command import Order, carry_out, read_config
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
    assert carry_out(memory_job, Order(BUILD, run="runs/ci/memory")) == 0
    assert "chunks by partition: D0" in capsys.readouterr().out
    assert carry_out(evaluation_job, Order(EVALUATE, as_json=True)) == 0
    summary = json.loads(capsys.readouterr().out)
    assert [arm["arm"] for arm in summary["arms"]] == ["no_retrieval", "retrieval", "expert"]
    (run,) = Path("runs").glob("evaluate_agents-*")
    assert (run / "report.html").is_file()


def test_a_run_directory_in_place_of_a_configuration_goes_on(memory_job, capsys):
    run = "runs/ci/memory"
    stops = ("execution.budget.max_tokens=300", "execution.concurrency=1")
    order = Order(BUILD, stops, run)
    assert carry_out(memory_job, order) == BudgetExceededError.exit_code
    assert "resume it with a larger one" in " ".join(capsys.readouterr().err.split())
    assert read_config(BuildMemoryConfig, Order(run)).execution.concurrency == 1
    assert carry_out(memory_job, Order(run, ("execution.budget.max_tokens=null",))) == 0
    assert len(list(Path(run, "attempts").iterdir())) == 2
    assert not list(Path("runs").glob("build_memory-*"))


def test_a_dry_run_starts_nothing(memory_job, tmp_path, capsys):
    assert carry_out(memory_job, Order(BUILD, dry_run=True)) == 0
    printed = yaml.safe_load(capsys.readouterr().out)
    assert printed["partitions"] == 2
    assert printed["estimate"]["episodes"] == 4
    assert printed["estimate"]["assumptions"]
    assert carry_out(memory_job, Order(BUILD, dry_run=True, as_json=True)) == 0
    assert json.loads(capsys.readouterr().out)["estimate"]["tasks"] == 4
    assert not list(tmp_path.iterdir())


def test_errors_have_one_envelope_and_an_exit_code(memory_job, capsys):
    assert carry_out(memory_job, Order("nowhere.yaml", as_json=True)) == 3
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "not_found"
    assert carry_out(memory_job, Order(BUILD, ("unknown=1",))) == 2
