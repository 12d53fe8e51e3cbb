"""A finished run in a real MLflow store: all of it, once, however often it is shown."""

import json

import pytest
import structlog
from synthetic_runs import synthetic_run

from collegium.cli import main
from collegium.core import (
    CorruptDataError,
    InvalidInputError,
    NotFoundError,
    UnavailableError,
)
from collegium.evaluation.report import build
from collegium.runtime.tracking import track_run

# MLflow's models use a loader strategy that SQLAlchemy 2.1 is going to drop.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy")

mlflow = pytest.importorskip("mlflow")


@pytest.fixture(autouse=True)
def _apart(tmp_path, monkeypatch):
    """Keep MLflow's local artefacts, which it puts beside the process, with the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    yield
    structlog.reset_defaults()


@pytest.fixture
def uri(tmp_path):
    return f"sqlite:///{tmp_path}/mlflow.db"


@pytest.fixture
def run(tmp_path):
    made = synthetic_run(tmp_path / "run")
    made.finish()
    build(made.path)
    return made


def test_everything_is_there(run, uri, tmp_path):
    tracked = track_run(run.path, uri)
    client = mlflow.MlflowClient(tracking_uri=uri)
    shown = client.get_run(tracked.run_id)
    assert client.get_experiment(shown.info.experiment_id).name == "synthetic"
    assert shown.data.params == {"pipeline": "synthetic", "step_limit": "30"}
    summary = json.loads(run.read_text("summary.json"))
    for arm in summary["arms"]:
        name = arm["arm"]
        assert shown.data.metrics[f"{name}/solved"] == arm["solved"]
        assert shown.data.metrics[f"{name}/success_rate"] == arm["success_rate"]["value"]
        assert shown.data.metrics[f"{name}/success_rate.low"] == arm["success_rate"]["low"]
        curve = client.get_metric_history(tracked.run_id, f"{name}/solved_by_step")
        assert [point.value for point in curve] == arm["solved_by_step"]
    assert shown.data.metrics["rows/episodes"] == len(run.keys("episodes"))
    assert shown.data.tags["collegium.config_digest"] == run.read_text("digest.txt")
    assert (shown.info.status, shown.info.run_name) == ("FINISHED", "run")
    worked = (shown.info.end_time - shown.info.start_time) / 1000
    assert worked == pytest.approx(run.active_seconds(), abs=0.01)
    copied = client.download_artifacts(tracked.run_id, "tables", str(tmp_path))
    for table in ("episodes", "growth"):
        data = (tmp_path / copied / f"{table}.parquet").read_bytes()
        assert data == run.read_bytes(f"tables/{table}.parquet")
    names = {file.path for file in client.list_artifacts(tracked.run_id)}
    assert names == {"config.yaml", "manifest.json", "report.html", "summary.json", "tables"}


def test_shown_again_it_is_the_same_run(run, uri):
    first = track_run(run.path, uri)
    assert track_run(run.path, uri) == first
    client = mlflow.MlflowClient(tracking_uri=uri)
    assert len(client.search_runs([client.get_experiment_by_name("synthetic").experiment_id])) == 1
    curve = client.get_metric_history(first.run_id, "retrieval/solved_by_step")
    assert len(curve) == len({point.step for point in curve})


def test_what_was_cut_short_is_completed(run, uri, monkeypatch):
    with monkeypatch.context() as patched:
        broken = mlflow.exceptions.MlflowException("disk full")
        patched.setattr(
            mlflow.MlflowClient, "log_artifacts", lambda *_: (_ for _ in ()).throw(broken)
        )
        with pytest.raises(UnavailableError, match="disk full"):
            track_run(run.path, uri)
    tracked = track_run(run.path, uri)
    client = mlflow.MlflowClient(tracking_uri=uri)
    assert len(client.search_runs([client.get_run(tracked.run_id).info.experiment_id])) == 1


def test_a_run_that_measured_nothing_shows_its_rows(tmp_path, uri):
    made = synthetic_run(tmp_path / "built")
    made.finish()
    tracked = track_run(made.path, uri, "mine")
    shown = mlflow.MlflowClient(tracking_uri=uri).get_run(tracked.run_id)
    assert set(shown.data.metrics) == {"rows/episodes", "rows/growth"}


def test_the_command(run, uri, capsys, monkeypatch):
    assert main(["report", "mlflow", run.path, "--to", uri, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    assert main(["report", "mlflow", run.path]) == 0
    assert told["run_id"] in capsys.readouterr().out


def test_nothing_says_where_mlflow_is(run):
    with pytest.raises(InvalidInputError, match="MLFLOW_TRACKING_URI"):
        track_run(run.path)


def test_a_run_that_is_not_finished(tmp_path, uri):
    made = synthetic_run(tmp_path / "unfinished")
    with pytest.raises(NotFoundError, match="not finished"):
        track_run(made.path, uri)


def test_a_store_that_mlflow_refuses(run, tmp_path):
    with pytest.raises((InvalidInputError, UnavailableError), match="MLflow at file://"):
        track_run(run.path, f"file://{tmp_path}/store")


@pytest.mark.parametrize("name", ["config.yaml", "tables/episodes.parquet"])
def test_what_was_altered_since_is_not_shown(run, uri, name):
    run.write_bytes(name, run.read_bytes(name) + b" ")
    with pytest.raises(CorruptDataError, match=f"{name} has SHA-256"):
        track_run(run.path, uri)
