"""The documents tell the truth: commands are run or checked, and nothing public is left out."""

import doctest
import importlib
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import structlog
from synthetic_runs import synthetic_run

from collegium.cli import main
from collegium.cli.app import app
from collegium.cli.exit_codes import MEANINGS
from collegium.config import Config

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _logs():
    yield
    structlog.reset_defaults()


def commands(text):
    """Return the commands in the shell blocks of a document, without comments."""
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    lines = (line.partition(" #")[0].strip() for block in blocks for line in block.splitlines())
    return [line for line in lines if line]


def pipelines_of(text):
    """Return (pipeline, configuration) for each call of a shell in `pipelines/`."""
    return re.findall(r"python pipelines/(\w+)\.py (configs/\S+)", text)


def run_doctor(_arguments, _tmp_path):
    assert main(["doctor"]) in (0, 1)


def run_report(_arguments, tmp_path):
    run = synthetic_run(tmp_path / "run")
    assert main(["report", run.path]) == 0


def check_usage(arguments, _tmp_path):
    """Accept a long command whose subcommand exists and knows the options."""
    names = [argument for argument in arguments[1:] if not argument.startswith("-")]
    depth = 2 if names[0] in {group.name for group in app.registered_groups} else 1
    assert main([*names[:depth], "--help"]) == 0


def check_make(arguments, _tmp_path):
    """Accept a target that make could make."""
    planned = subprocess.run(
        ["make", "--dry-run", *arguments[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert planned.returncode == 0, planned.stderr


def check_pipeline(arguments, _tmp_path):
    """Accept a pipeline's shell; its configuration is checked by a test of its own."""
    assert (ROOT / arguments[1]).is_file()
    assert (ROOT / arguments[2]).is_file()


def check_submission(arguments, _tmp_path):
    """Accept what hands a file of ours to a cluster; the files have tests of their own."""
    file = next(argument for argument in arguments if argument.startswith("deploy/"))
    assert (ROOT / file).is_file()


def check_setting(_arguments, _tmp_path):
    """Accept what only prepares the shell."""


CHECKS = {
    "collegium doctor": run_doctor,
    "collegium report": run_report,
    "collegium report gate": check_usage,
    "collegium report mlflow": check_usage,
    "collegium run": check_usage,
    "collegium data": check_usage,
    "collegium push": check_usage,
    "collegium pull": check_usage,
    "collegium report publish": check_usage,
    "collegium db": check_usage,
    "collegium key": check_usage,
    "collegium serve": check_usage,
    "sbatch ": check_submission,
    "kubectl apply ": check_submission,
    "make": check_make,
    "python pipelines/": check_pipeline,
    "export ALFWORLD_DATA=": check_setting,
    "source .venv/bin/activate": check_setting,
}


@pytest.mark.parametrize("command", commands(README) + commands(CONTRIBUTING))
def test_each_command_works(command, tmp_path, capsys):
    start = max((start for start in CHECKS if command.startswith(start)), key=len, default=None)
    assert start, f"no check for: {command}"
    if CHECKS[start] is check_make and shutil.which("make") is None:
        pytest.skip("needs make")
    CHECKS[start](shlex.split(command), tmp_path)
    options = (
        set(re.findall(r" (--[a-z-]+)", command)) if command.startswith("collegium") else set()
    )
    shown = capsys.readouterr().out
    assert not {o for o in options if o not in shown}


@pytest.mark.parametrize(("pipeline", "config"), pipelines_of(README) + pipelines_of(MAKEFILE))
def test_each_pipeline_plans_its_run(pipeline, config, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["run", pipeline, config, "--dry-run", "--json"]) == 0, capsys.readouterr().out


def test_python_session():
    failed, tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert tried >= 7
    assert failed == 0


def test_every_subcommand_is_documented():
    names = [c.name or c.callback.__name__ for c in app.registered_commands]
    names += [group.name for group in app.registered_groups]
    assert len(names) >= 6
    assert not [name for name in names if f"| `collegium {name}` |" not in README]


def test_exit_codes_are_documented():
    for code, meaning in MEANINGS.items():
        assert f"| {code.value} | {meaning} |" in README


def test_extras_are_documented():
    extras = set(PROJECT["project"]["optional-dependencies"]) - {"dev", "parity"}
    assert not [name for name in extras if f"`{name}`" not in README]


def test_make_targets_are_explained():
    targets = set(re.search(r"\.PHONY: (.*)", MAKEFILE)[1].split()) - {"help"}
    assert not [target for target in targets if f"'make {target}" not in MAKEFILE]


def test_linked_files_exist():
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]


def config_modules():
    source = ROOT / "src"
    for file in sorted(source.rglob("*.py")):
        if re.search(r"^class \w+\(\w*(Config|Settings)\b", file.read_text("utf-8"), re.MULTILINE):
            yield ".".join(file.relative_to(source).with_suffix("").parts)


def test_every_configuration_field_is_documented():
    for name in config_modules():
        importlib.import_module(name)
    classes = [Config]
    for each in classes:
        classes.extend(each.__subclasses__())
    ours = {c for c in classes if c.__module__.startswith("collegium.")}
    assert len(ours) > 15
    bare = {
        f"{c.__module__}.{c.__name__}.{field}"
        for c in ours
        for field, info in c.model_fields.items()
        if not info.description and field not in ("kind", "pipeline")
    }
    assert not bare
