"""`collegium db`, `report publish`, `bench ledger` and the doctor's check, on a real server."""

import json
import subprocess
import sys

import pytest
import structlog
from synthetic_runs import synthetic_run

from collegium.cli import main
from collegium.core import UnavailableError
from collegium.evaluation.benchmarks import ledger as bench
from collegium.service.doctor import Status
from collegium.service.doctor.database import check_database
from collegium.store.status import look


@pytest.fixture(autouse=True)
def _here(database_settings, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", database_settings.url.get_secret_value())
    monkeypatch.setenv("COLLEGIUM_DATA", str(database_settings.data_dir))
    monkeypatch.setenv("COLLEGIUM_KEYS", str(database_settings.keys))
    yield
    structlog.reset_defaults()


@pytest.fixture
def run(tmp_path):
    run = synthetic_run(tmp_path / "run")
    run.finish()
    return run


def printed(capsys, *arguments, code=0):
    """Run a command with --json; return the one object that it prints."""
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_a_run_is_published_once_and_vouched_for(run, capsys):
    first = printed(capsys, "report", "publish", run.path)
    assert first["rows"] == run.manifest().rows
    assert printed(capsys, "report", "publish", run.path) == first
    verification = printed(capsys, "db", "verify")
    assert (verification["ok"], verification["events"]) == (True, 1)
    assert (verification["vouched_from"], verification["vouched_to"]) == (1, 1)
    assert main(["report", "publish", run.path]) == 0
    assert f"run {first['digest']} is event 1" in capsys.readouterr().out


def test_a_changed_run_is_not_published(run, tmp_path, capsys):
    table = next((tmp_path / "run" / "tables").iterdir())
    table.write_bytes(table.read_bytes() + b" ")
    error = printed(capsys, "report", "publish", run.path, code=4)["error"]
    assert "the manifest says" in error["message"]
    assert (
        printed(capsys, "report", "publish", str(tmp_path), code=3)["error"]["code"] == "not_found"
    )


def test_every_command_in_words_and_in_json(run, tmp_path, capsys, database_settings):
    assert main(["db", "up"]) == 0
    assert "0 events, no checkpoint, 0 unsigned" in capsys.readouterr().out
    assert main(["db", "checkpoint"]) == 0
    assert "nothing to sign" in capsys.readouterr().out
    assert printed(capsys, "db", "checkpoint") is None
    printed(capsys, "report", "publish", run.path)
    assert printed(capsys, "db", "status")["unsigned_events"] == 0
    assert printed(capsys, "db", "checkpoint")["signed_now"] is False
    card = printed(capsys, "db", "backup", str(tmp_path / "backup"))
    assert card["position"] == 1
    assert printed(capsys, "db", "restore", str(tmp_path / "backup"))["lost"] == 0
    assert printed(capsys, "db", "scrub")["physical"] is False
    assert (
        printed(capsys, "db", "upgrade")["after"]
        == printed(capsys, "db", "status")["latest_revision"]
    )
    for words in ("status", "checkpoint", "verify", "upgrade", "scrub", "down"):
        assert main(["db", words]) == 0
    out = capsys.readouterr().out
    assert "1 events; vouched for: 1 … 1" in out
    assert main(["db", "backup", str(tmp_path / "second")]) == 0
    assert main(["db", "restore", str(tmp_path / "second"), "--accept-older"]) == 0
    assert "1 events are back, 0 newer ones are gone" in capsys.readouterr().out


def test_tampering_is_a_verdict(run, database, capsys):
    printed(capsys, "report", "publish", run.path)
    with database.transaction() as connection:
        connection.exec_driver_sql("update collegium.events set payload = '{}'")
    assert printed(capsys, "db", "verify", code=1)["findings"][0]["kind"] == "altered"
    assert main(["db", "verify"]) == 1
    out = capsys.readouterr().out
    assert "altered: event 1, version 1 of runs, is not what was appended" in out
    assert "1 events; none is vouched for" in out


@pytest.mark.parametrize("command", [["db", "status"], ["bench", "ledger"]])
def test_without_its_extra_the_database_names_it(command):
    code = (
        "import sys; sys.modules['sqlalchemy'] = None; from collegium.cli import main; "
        f"sys.exit(main({command}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert "pip install 'collegium[store]'" in done.stderr


def test_the_doctor_looks_at_the_database(database, database_settings):
    check = check_database(lambda: look(database_settings))
    assert check.status is Status.OK
    assert "schema" in check.detail
    status = look(database_settings)
    for change, found in [
        ({"unsigned_events": 3}, Status.WARN),
        ({"schema_revision": "0000"}, Status.FAIL),
        ({"schema_revision": "9999"}, Status.FAIL),
        ({"schema_revision": None}, Status.OK),
        ({"running": False}, Status.OK),
    ]:
        changed = status.model_copy(update=change)
        assert check_database(lambda changed=changed: changed).status is found

    def gone():
        raise UnavailableError("no answer")

    assert check_database(gone).status is Status.FAIL


def test_the_bench_measures_what_it_says(monkeypatch):
    monkeypatch.setattr(bench, "BATCHES", 3)
    monkeypatch.setattr(bench, "PAIRS", 5)
    result = bench.run(events=1000)
    assert set(result.targets) == {
        "verify_events_per_s",
        "append_events_per_s",
        "append_commit_ratio",
    }
    assert all(figure and figure > 0 for figure in result.figures.values())
