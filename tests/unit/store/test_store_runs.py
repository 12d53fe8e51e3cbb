"""One process at a time, every start on record, and a manifest that vouches for each file."""

import hashlib
import json
import os
import pickle
import platform
import signal
import subprocess
import sys
from contextlib import contextmanager

import pyarrow.parquet as pq
import pytest

import collegium
from collegium.config import Config
from collegium.core import CorruptDataError, InvalidInputError
from collegium.store import RunDirectory
from collegium.store.versions import source_commit

HOLDER = """
import sys
from collegium.config import Config
from collegium.store import RunDirectory
class Empty(Config): pass
run = RunDirectory(sys.argv[1]).open(Empty())
print("open", flush=True)
sys.stdin.read()
"""


class Empty(Config):
    """A configuration without fields."""


@contextmanager
def held(path):
    """Let another process work in the run directory."""
    command = [sys.executable, "-c", HOLDER, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


def test_a_second_process_is_told_who_works_there(tmp_path):
    with held(tmp_path / "run") as holder:
        told = rf"process {holder.pid} on {platform.node()}: wait until it ends"
        with pytest.raises(InvalidInputError, match=told):
            RunDirectory(str(tmp_path / "run")).open(Empty())


def test_a_killed_process_holds_nothing(tmp_path):
    with held(tmp_path / "run") as holder:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait(10)
        run = RunDirectory(str(tmp_path / "run")).open(Empty())
    assert [attempt.pid for attempt in run.attempts()] == [holder.pid, os.getpid()]


def test_a_dropped_run_is_free_for_others(tmp_path):
    RunDirectory(str(tmp_path / "run")).open(Empty())
    with held(tmp_path / "run"):
        pass


def test_each_attempt_says_what_it_ran_with(tmp_path, monkeypatch):
    run = RunDirectory(str(tmp_path / "run")).open(Empty())
    run.note_versions(game_data="sha256:1")
    monkeypatch.setattr(collegium, "__version__", "9.9")
    RunDirectory(run.path).open(Empty())
    first, second = (attempt.versions for attempt in run.attempts())
    assert (first["collegium"], second["collegium"]) == ("0.1.0", "9.9")
    assert first["game_data"] == "sha256:1"
    assert "game_data" not in second
    assert first["packages"]["numpy"]
    assert first["python"] == platform.python_version()


def test_versions_are_noted_by_an_open_run_only(tmp_path):
    with pytest.raises(InvalidInputError, match="not open"):
        RunDirectory(str(tmp_path)).note_versions(game_data="x")


def test_a_torn_attempt_is_named(tmp_path):
    run = RunDirectory(str(tmp_path / "run")).open(Empty())
    run.write_text("attempts/2-torn.json", "{")
    with pytest.raises(CorruptDataError, match=r"2-torn\.json"):
        run.starts()


def test_the_commit_is_that_of_the_code_and_of_nothing_else(tmp_path):
    def git(*arguments):
        command = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e"]
        done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    package, stranger = tmp_path / "package", tmp_path / "stranger"
    for folder in (package, stranger):
        folder.mkdir()
        (folder / "__init__.py").touch()
    git("init")
    git("add", "package")
    git("commit", "-m", "first")
    commit = git("rev-parse", "HEAD")
    assert source_commit(package) == commit
    (package / "__init__.py").write_text("changed = True\n")
    assert source_commit(package) == f"{commit}-dirty"
    assert source_commit(stranger) == ""


def test_the_manifest_vouches_for_every_file(tmp_path):
    run = RunDirectory(str(tmp_path / "run")).open(Empty())
    run.append("t", [{"key": "a", "n": 1, "deep": [1]}, {"key": "b", "n": None, "deep": []}])
    run.append("t", [{"key": "a", "n": 2, "deep": []}])
    run.write_bytes("adapters/keen/weights", b"\x00\xff")
    for remade in ("report.html", "vectors/cache", "adapters/.keen.lock"):
        run.write_text(remade, "may change")
    run.finish()
    manifest = json.loads(run.read_text("manifest.json"))
    assert manifest["rows"] == {"t": 2}
    kinds = [name.split("/")[0] for name in manifest["files"]]
    assert kinds == ["adapters", "attempts", "config.yaml", "digest.txt", "rows", "rows", "tables"]
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((tmp_path / "run" / name).read_bytes()).hexdigest() == digest
    table = pq.read_table(tmp_path / "run" / "tables" / "t.parquet").to_pylist()
    assert table == [{"key": "a", "n": 1, "deep": "[1]"}, {"key": "b", "n": None, "deep": "[]"}]


def test_a_column_without_values_goes_together_with_one_of_numbers(tmp_path):
    tables = []
    for name, utility in (("empty", None), ("full", 0.5)):
        run = RunDirectory(str(tmp_path / name)).open(Empty())
        run.append("t", [{"key": "a", "utility": utility, "repeats": 1}])
        run.finish()
        tables.append(pq.read_table(tmp_path / name / "tables" / "t.parquet"))
    assert tables[0].schema == tables[1].schema
    assert tables[0].to_pylist() == [{"key": "a", "utility": None, "repeats": 1}]


def test_an_object_store_gets_a_manifest_too(tmp_path):
    run = RunDirectory(f"memory://{tmp_path.name}").open(Empty())
    run.append("t", [{"key": "a"}])
    run.finish()
    files = json.loads(run.read_text("manifest.json"))["files"]
    assert {"config.yaml", "digest.txt", "tables/t.parquet"} <= files.keys()


def test_a_run_without_rows_can_be_finished(tmp_path):
    run = RunDirectory(str(tmp_path / "run")).open(Empty())
    run.finish()
    assert json.loads(run.read_text("manifest.json"))["rows"] == {}


def test_it_pickles_as_its_path(tmp_path):
    run = RunDirectory(str(tmp_path / "run")).open(Empty())
    run.append("t", [{"key": "a"}])
    assert pickle.loads(pickle.dumps(run)).keys("t") == {"a"}
