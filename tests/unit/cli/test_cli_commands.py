"""The commands: what they print, how they exit, and that errors have one shape."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest
import structlog
from synthetic_runs import synthetic_run

import collegium.core as core
from collegium.cli import main
from collegium.cli.exit_codes import MEANINGS, ExitCode
from collegium.evaluation.benchmarks import BenchResult, Target
from collegium.llm.adapters import AdapterCard
from collegium.service import adapters as adapter_service
from collegium.service import benchmarks, doctor
from collegium.service.doctor import Check, Diagnosis, Status

HEAVY = ("torch", "vllm", "ray", "transformers", "sentence_transformers", "matplotlib", "pydantic")


@pytest.fixture(autouse=True)
def _logs():
    yield
    structlog.reset_defaults()


def printed_json(capsys):
    """Return the one JSON object on standard output; standard error must be empty."""
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from collegium.cli import main; code = main(['--help']);"
        f"print(code, [m for m in {HEAVY} if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert out.splitlines()[-1] == "0 []"
    for code, meaning in MEANINGS.items():
        assert f"{code.value:>5}  {meaning}" in out


def test_no_command_shows_the_help(capsys):
    assert main([]) == 0
    assert "doctor" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == "0.1.0"


@pytest.mark.parametrize("arguments", [["nonsense"], ["report"], ["doctor", "--wrong"], ["data"]])
def test_wrong_usage(arguments, capsys):
    assert main(arguments) == ExitCode.USAGE
    assert capsys.readouterr().err.startswith("error: ")
    assert main([*arguments, "--json"]) == ExitCode.USAGE
    assert printed_json(capsys)["error"]["code"] == "usage"


def test_every_error_of_the_tree_has_a_documented_exit_code():
    tree = [core.CollegiumError]
    for error in tree:
        tree.extend(error.__subclasses__())
        assert error.exit_code in {code.value for code in MEANINGS}


def raising(error):
    def diagnose():
        raise error

    return diagnose


@pytest.mark.parametrize(
    ("error", "name", "code"),
    [
        (core.NotFoundError("no games; run this"), "not_found", ExitCode.NOT_FOUND),
        (core.BudgetExceededError("spent"), "budget", ExitCode.BUDGET),
        (ZeroDivisionError("oops"), "unexpected", ExitCode.UNEXPECTED),
    ],
)
def test_errors_have_one_shape(error, name, code, monkeypatch, capsys):
    monkeypatch.setattr(doctor, "diagnose", raising(error))
    assert main(["doctor"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert main(["doctor", "--json"]) == code
    envelope = printed_json(capsys)
    assert set(envelope) == {"error"}
    assert set(envelope["error"]) == {"code", "message"}
    assert envelope["error"]["code"] == name


def test_the_user_stops_a_command(monkeypatch):
    monkeypatch.setattr(doctor, "diagnose", raising(KeyboardInterrupt()))
    assert main(["doctor"]) == ExitCode.INTERRUPTED


def test_verbose_shows_where_a_bug_is(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "diagnose", raising(ZeroDivisionError("oops")))
    assert main(["-v", "doctor"]) == ExitCode.UNEXPECTED
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("status", "code"), [("ok", ExitCode.OK), ("warn", ExitCode.OK), ("fail", ExitCode.VERDICT)]
)
def test_doctor_exits_with_its_verdict(status, code, monkeypatch, capsys):
    check = Check(name="disk", status=Status(status), detail="[bold]found", remedy="free some")
    monkeypatch.setattr(doctor, "diagnose", lambda: Diagnosis(checks=(check,)))
    assert main(["doctor"]) == code
    shown = capsys.readouterr().out
    assert "[bold]found" in shown
    assert "→ free some" in shown
    assert main(["doctor", "--json"]) == code
    assert printed_json(capsys)["ok"] is (status != "fail")


def test_doctor_on_this_machine(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    assert main(["doctor", "--json"]) == ExitCode.VERDICT
    checks = {check["name"]: check for check in printed_json(capsys)["checks"]}
    expected = {"packages", "engine", "model", "adapters", "disk", "memory", "threads"}
    assert expected < set(checks)
    assert checks["game data"]["status"] == "fail"
    assert "collegium data household" in checks["game data"]["remedy"]


@pytest.mark.parametrize(("figure", "code"), [(2, ExitCode.OK), (1, ExitCode.VERDICT)])
def test_bench_exits_with_its_verdict(figure, code, monkeypatch, capsys):
    result = BenchResult.judge("household", {"speed": figure}, {"speed": Target(min=2)})
    monkeypatch.setattr("collegium.cli.bench.run_benchmark", lambda name: result)
    assert main(["bench", "household"]) == code
    assert "speed" in capsys.readouterr().out
    assert main(["bench", "household", "--json"]) == code
    assert printed_json(capsys) == {
        "bench": "household",
        "figures": {"speed": figure},
        "targets": {"speed": {"min": 2}},
        "meets": code == ExitCode.OK,
    }


def test_report_of_a_run(tmp_path, capsys):
    run = synthetic_run(tmp_path / "run")
    assert main(["report", run.path]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "Results" in shown
    assert "paired difference" in shown
    assert shown.rstrip().endswith("report.html")
    assert (tmp_path / "run" / "report.html").is_file()
    assert main(["report", run.path, "--json"]) == ExitCode.OK
    assert printed_json(capsys) == json.loads((tmp_path / "run" / "summary.json").read_text())


def test_report_of_no_run(tmp_path, capsys):
    assert main(["report", str(tmp_path), "--json"]) == ExitCode.NOT_FOUND
    assert printed_json(capsys)["error"]["code"] == "not_found"


def test_data_household(monkeypatch, capsys, tmp_path):
    assert main(["data", "household", "--from", str(tmp_path)]) == ExitCode.NOT_FOUND
    assert "games_*.tar.xz" in capsys.readouterr().err


def test_adapters(monkeypatch, capsys):
    card = AdapterCard(
        name="keen",
        base_model="b",
        data="d",
        seed=0,
        command="c",
        benchmarks={"all": 0.25},
        files={},
    )
    monkeypatch.setattr(adapter_service, "list_adapters", lambda: ("keen",))
    monkeypatch.setattr(adapter_service, "find_adapter", lambda name: name)
    monkeypatch.setattr(adapter_service, "read_card", lambda folder: card)
    assert main(["adapters"]) == ExitCode.OK
    assert "all 25%" in capsys.readouterr().out
    assert main(["adapters", "--json"]) == ExitCode.OK
    assert printed_json(capsys)["adapters"][0]["name"] == "keen"


def test_run_names_the_pipelines_it_knows(capsys):
    pytest.importorskip("ray")
    assert main(["run", "nonsense", "x.yaml"]) == ExitCode.NOT_FOUND
    assert "build_memory, evaluate_agents" in capsys.readouterr().err


@pytest.mark.parametrize("benchmark", list(benchmarks.Benchmark))
def test_each_benchmark_is_a_module(benchmark):
    assert find_spec(f"collegium.evaluation.benchmarks.{benchmark.value}")
