"""The rules of the house that a machine can hold: layers, sizes, light imports, no local traces."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_LINES = 500
MAX_SHELL_LINES = 40
HEAVY = ("torch", "ray", "vllm", "transformers", "sentence_transformers", "lancedb", "matplotlib")
LIGHT = (
    "collegium.agents",
    "collegium.cli",
    "collegium.config",
    "collegium.core",
    "collegium.embedding",
    "collegium.environments.household",
    "collegium.evaluation",
    "collegium.experience",
    "collegium.llm",
    "collegium.runtime.jobs.configs",
    "collegium.service.doctor",
    "collegium.store",
)
LOCAL = re.compile(r"(?<![\w.])/(?:wor[k]|tm[p]|roo[t]|hom[e]|op[t])/")
HOSTS = re.compile(r"pypi\.or[g]|pythonhosted\.or[g]|pytorch\.or[g]|npmjs\.or[g]|debian\.or[g]")


def tracked(*suffixes):
    """Return the files under version control, those with one of `suffixes` if any is given."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [f for f in files if f.is_file() and (not suffixes or f.suffix in suffixes)]


def test_layers_hold():
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def test_no_file_is_too_long():
    long = {
        str(f.relative_to(ROOT)): n
        for f in tracked(".py")
        if (n := len(f.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert not long


@pytest.mark.parametrize("shell", sorted((ROOT / "pipelines").glob("*.py")), ids=lambda f: f.name)
def test_pipelines_are_shells(shell):
    assert len(shell.read_text(encoding="utf-8").splitlines()) <= MAX_SHELL_LINES


def test_light_modules_import_nothing_heavy():
    code = (
        f"import sys, importlib\nfor name in {LIGHT}:\n    importlib.import_module(name)\n"
        f"    print(name, [m for m in {HEAVY} if m in sys.modules])"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{name} []" for name in LIGHT]


@pytest.mark.parametrize("pattern", [LOCAL, HOSTS], ids=["paths", "registry hosts"])
def test_nothing_of_one_machine_is_committed(pattern):
    found = []
    for file in tracked(".py", ".md", ".yaml", ".toml", ".txt", ".ipynb", ".json", ".j2", ""):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if match := pattern.search(line):
                found.append(f"{file.relative_to(ROOT)}:{number}: {match.group()}")
    assert not found


def test_each_package_says_what_it_is_for():
    packages = sorted((ROOT / "src" / "collegium").glob("*/__init__.py"))
    assert len(packages) >= 12
    for package in packages:
        assert package.read_text(encoding="utf-8").startswith('"""'), package
