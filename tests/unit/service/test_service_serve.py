"""What Ray Serve is given: shells, typed arguments, one configuration; nothing is started here."""

import importlib
import inspect
import json
import socket
import sys
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError
from ray.serve.schema import ServeDeploySchema
from ray.util.metrics import Counter
from starlette.testclient import TestClient

from collegium.cli import main
from collegium.core import ConfigError
from collegium.runtime.serve import deployments, metrics
from collegium.runtime.serve.configs import NoopArgs, ServeConfig, ServiceArgs
from collegium.runtime.serve.local import reserved
from collegium.service.http.noop import noop_app

ROOT = Path(__file__).resolve().parents[3]
SHELLS = sorted((ROOT / "serve").glob("*.py"))


def enter(context):
    with context:
        pass


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell.name)
def test_shells_are_short(shell):
    assert len(shell.read_text(encoding="utf-8").splitlines()) <= 40


@pytest.mark.parametrize("kind", [deployments.Service, deployments.Noop])
def test_deployments_are_short(kind):
    assert len(inspect.getsource(kind).splitlines()) <= 40


def test_configuration_names_builders_and_their_arguments(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    text = (ROOT / "serve" / "config.yaml").read_text(encoding="utf-8")
    applications = ServeDeploySchema.model_validate(yaml.safe_load(text)).applications
    assert len(applications) == len(SHELLS)
    for application in applications:
        module, _, name = application.import_path.partition(":")
        builder = getattr(importlib.import_module(module), name)
        (argument,) = inspect.signature(builder).parameters.values()
        assert issubclass(argument.annotation, NoopArgs)
        argument.annotation.model_validate(application.args)
    for module in ("serve.service", "serve.noop", "serve"):
        sys.modules.pop(module, None)


def test_arguments_from_a_command_line_are_typed():
    assert ServiceArgs.model_validate({"replicas": "2"}).replicas == 2
    with pytest.raises(ValidationError):
        ServiceArgs.model_validate({"replica": "2"})


def test_noop_answers():
    client = TestClient(noop_app())
    assert client.get("/noop").json() == client.post("/noop", json={}).json() == {"status": "ok"}


def test_metric_names_are_valid(monkeypatch):
    """Ray drops metrics with invalid names after a warning only."""
    made = []
    for kind in ("Counter", "Histogram"):
        monkeypatch.setattr(metrics, kind, lambda name, *_: made.append(name))
    metrics.RayRecorder()
    assert len(made) == 2
    assert all(Counter(name)._discard_metric is False for name in made)


def test_dry_run_shows_the_settings_but_no_password(monkeypatch, capsys):
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:my-password@host/db")
    assert main(["serve", "--dry-run", "--json", "--port", "8123", "-s", "service.replicas=3"]) == 0
    out = capsys.readouterr().out
    shown = json.loads(out)
    assert (shown["port"], shown["service"]["replicas"]) == (8123, 3)
    assert "my-password" not in out
    assert main(["serve", "--dry-run", "-s", "service.replica=3"]) == 2


def test_taken_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ConfigError, match="--port"):
            enter(reserved("127.0.0.1", taken.getsockname()[1]))
    assert ServeConfig().port == 8000


def test_a_port_is_reserved_before_anything_listens():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with reserved("127.0.0.1", port), pytest.raises(ConfigError, match="another `collegium serve`"):
        enter(reserved("127.0.0.1", port))
    enter(reserved("127.0.0.1", port))


def test_an_unknown_host_is_named():
    with pytest.raises(ConfigError, match="no-such-host"):
        enter(reserved("no-such-host.invalid", 8000))
