"""Shows a finished run in MLflow: its configuration, what was measured, its tables and report.

The run directory stays the record; this copies from it after the run, so a tracking server that is
down costs no episode. Everything is written under the run's own time, so that showing a run again,
after a failure half way or after the run went on, completes the same MLflow run.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from collegium.core import (
    InvalidInputError,
    MissingDependencyError,
    Record,
    UnavailableError,
    content_id,
)
from collegium.evaluation.records import Summary
from collegium.evaluation.report import stored_summary
from collegium.store import Manifest, RunDirectory

_IDENTITY = "collegium.run"
_LONGEST_VALUE = 6000
"""MLflow refuses parameters that are longer."""
_BATCH = 100
"""MLflow takes no more parameters at once."""
_ARTIFACTS = ("config.yaml", "manifest.json", "summary.json", "report.html")
_SERVER_ERROR = 500
_NOT_IN_NAMES = re.compile(r"[^\w./ -]")


class Tracked(Record):
    """Where a run now is in MLflow."""

    tracking_uri: str
    experiment: str
    run_id: str


def track_run(path: str, tracking_uri: str | None = None, experiment: str | None = None) -> Tracked:
    """Copy a finished run into MLflow.

    Args:
        path: Run directory.
        tracking_uri: Tracking server or database; by default what MLFLOW_TRACKING_URI names.
        experiment: MLflow experiment; by default the name of the pipeline.

    Raises:
        NotFoundError: There is no such run, or it is not finished.
        CorruptDataError: A file is not the one that the run finished with.
        InvalidInputError: Nothing says where MLflow is, or MLflow refuses that.
        MissingDependencyError: A package is not installed.
        UnavailableError: MLflow cannot be reached.
    """
    uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI")
    if not uri:
        raise InvalidInputError(
            "which MLflow? give --to, or set MLFLOW_TRACKING_URI; `sqlite:///mlflow.db` is a file"
        )
    run = RunDirectory(path)
    manifest = run.manifest()
    config = yaml.safe_load(_checked(run, manifest, "config.yaml"))
    name = experiment or str(config.get("pipeline", "collegium"))
    with _told(uri):
        run_id = _Sink(uri, run, manifest).write(name, config)
    return Tracked(tracking_uri=uri, experiment=name, run_id=run_id)


class Measured(NamedTuple):
    """One point of a metric."""

    name: str
    value: float
    step: int = 0


def summary_metrics(summary: Summary) -> Iterator[Measured]:
    """Yield each number of each arm as `ARM/NAME`; intervals as `NAME`, `NAME.low`, `NAME.high`.

    `ARM/solved_by_step` is a curve: task-runs solved within so many steps.
    """
    yield Measured("incomplete_task_runs", summary.incomplete_task_runs)
    for arm in summary.arms:
        for key, value in _leaves(arm.model_dump(mode="json", exclude={"solved_by_step"})):
            if isinstance(value, int | float):
                yield Measured(f"{arm.arm}/{key.removesuffix('.value')}", value)
        for step, solved in enumerate(arm.solved_by_step):
            yield Measured(f"{arm.arm}/solved_by_step", solved, step)


class _Sink:
    """Writes one run to one tracking store."""

    def __init__(self, uri: str, run: RunDirectory, manifest: Manifest) -> None:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        from mlflow import MlflowClient

        self._client = MlflowClient(tracking_uri=uri)
        self._run = run
        self._manifest = manifest
        self._digest = run.read_text("digest.txt").strip()
        self._attempts = run.attempts()
        worked = timedelta(seconds=run.active_seconds())
        self._started = _milliseconds(self._attempts[0].started)
        self._ended = _milliseconds(self._attempts[0].started + worked)

    def write(self, experiment: str, config: Mapping[str, Any]) -> str:
        """Write everything and return the id of the MLflow run."""
        run_id = self._run_id(self._experiment_id(experiment))
        self._write_parameters(run_id, config)
        self._write_metrics(run_id)
        self._write_files(run_id)
        self._client.set_terminated(run_id, "FINISHED", end_time=self._ended)
        return run_id

    def _experiment_id(self, name: str) -> str:
        found = self._client.get_experiment_by_name(name)
        return str(found.experiment_id if found else self._client.create_experiment(name))

    def _run_id(self, experiment: str) -> str:
        """Return the MLflow run that was begun for this run earlier, or a new one."""
        identity = content_id({"digest": self._digest, "started": self._started})
        same = f"tags.`{_IDENTITY}` = '{identity}'"
        if found := self._client.search_runs([experiment], same, max_results=1):
            return str(found[0].info.run_id)
        versions = self._attempts[-1].versions
        tags = {
            _IDENTITY: identity,
            "collegium.config_digest": self._digest,
            "collegium.version": str(versions.get("collegium", "")),
            "mlflow.source.git.commit": str(versions.get("commit", "")),
        }
        name = self._run.path.rsplit("/", 1)[-1]
        created = self._client.create_run(
            experiment, start_time=self._started, tags=tags, run_name=name
        )
        return str(created.info.run_id)

    def _write_parameters(self, run_id: str, config: Mapping[str, Any]) -> None:
        from mlflow.entities import Param

        leaves = _leaves(config)
        params = [Param(_name(key), str(value)[:_LONGEST_VALUE]) for key, value in leaves]
        for start in range(0, len(params), _BATCH):
            self._client.log_batch(run_id, params=params[start : start + _BATCH])

    def _write_metrics(self, run_id: str) -> None:
        from mlflow.entities import Metric

        rows = self._manifest.rows.items()
        measured = [Measured(f"rows/{table}", count) for table, count in rows]
        if (summary := stored_summary(self._run)) is not None:
            measured += summary_metrics(summary)
        metrics = [Metric(_name(m.name), m.value, self._ended, m.step) for m in measured]
        for start in range(0, len(metrics), _BATCH):
            self._client.log_batch(run_id, metrics=metrics[start : start + _BATCH])

    def _write_files(self, run_id: str) -> None:
        names = [name for name in _ARTIFACTS if self._run.exists(name)]
        names += [f"tables/{table}.parquet" for table in self._manifest.rows]
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                file = Path(folder, name)
                file.parent.mkdir(exist_ok=True)
                file.write_bytes(_checked(self._run, self._manifest, name))
            self._client.log_artifacts(run_id, folder)


def _checked(run: RunDirectory, manifest: Manifest, name: str) -> bytes:
    return manifest.check(name, run.read_bytes(name), run.path)


def _leaves(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what is no mapping and no list, under the dotted path to it; nulls are left out."""
    nested = value.items() if isinstance(value, Mapping) else enumerate(value)
    for key, each in nested:
        path = f"{at}.{key}" if at else str(key)
        if isinstance(each, Mapping | list):
            yield from _leaves(each, path)
        elif each is not None:
            yield path, each


def _name(text: str) -> str:
    """Return `text` with what MLflow does not allow in names replaced."""
    return _NOT_IN_NAMES.sub("_", text)


def _milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)


@contextmanager
def _told(uri: str) -> Iterator[None]:
    """Turn what MLflow raises into errors that say what to do."""
    try:
        from mlflow.exceptions import MlflowException
    except ImportError:
        raise MissingDependencyError("MLflow: pip install 'collegium[mlflow]'") from None
    try:
        yield
    except MlflowException as error:
        if error.get_http_status_code() < _SERVER_ERROR:
            raise InvalidInputError(f"MLflow at {uri} refuses: {error}") from error
        raise UnavailableError(f"MLflow at {uri} cannot be reached or used: {error}") from error
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"MLflow at {uri} needs {error.name}; for a database of one's own: "
            "pip install 'collegium[mlflow,store]'"
        ) from None
