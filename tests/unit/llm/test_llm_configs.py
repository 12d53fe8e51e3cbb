"""Engines are described by data: chosen by kind, extended by entry points, light to import."""

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Literal

import pytest

from collegium.config import Config, dump_yaml, load
from collegium.core import ConfigError
from collegium.llm import (
    Engine,
    EngineConfig,
    EngineSettings,
    HttpConfig,
    VllmConfig,
    configs,
    engine_kinds,
)
from collegium.llm.scripted import ScriptedEngine


class RunConfig(Config):
    engine: EngineConfig = VllmConfig()


class EchoConfig(EngineSettings):
    kind: Literal["echo"] = "echo"
    volume: int = 1

    def _start(self) -> Engine:
        return ScriptedEngine(lambda request: str(request.prompt) * self.volume)


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("echo", f"{__name__}:EchoConfig", "collegium.engines")
    monkeypatch.setattr(configs, "entry_points", lambda group: [point])


def test_kind_chooses_the_class_and_vllm_is_the_default() -> None:
    http = {"engine": {"kind": "http", "model": "m", "base_urls": ["http://x"]}}
    assert isinstance(RunConfig.model_validate(http).engine, HttpConfig)
    assert RunConfig.model_validate({"engine": {"threads": 2}}).engine == VllmConfig(threads=2)


def test_unknown_kind_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="known kinds: http, replay, vllm"):
        load(RunConfig, [], ["engine.kind=nope"])


def test_wrong_key_is_named() -> None:
    with pytest.raises(ConfigError, match=r"engine\.thread"):
        load(RunConfig, [], ["engine.thread=2"])


@pytest.mark.usefixtures("plugin")
def test_plugin_kind_is_validated_built_and_written_whole(tmp_path: Path) -> None:
    config = load(RunConfig, [], ["engine.kind=echo", "engine.volume=3"])
    assert config.engine.build().model == "scripted"
    assert "echo" in engine_kinds()
    (tmp_path / "c.yaml").write_text(dump_yaml(config))
    assert load(RunConfig, [tmp_path / "c.yaml"]) == config


def test_schema_documents_every_built_in_kind() -> None:
    schema = RunConfig.model_json_schema()
    assert set(schema["properties"]["engine"]["discriminator"]["mapping"]) == {
        "http",
        "replay",
        "vllm",
    }


def test_importing_engines_loads_nothing_heavy() -> None:
    code = (
        "import sys, collegium.llm; "
        "print([m for m in ('torch', 'vllm', 'ray', 'transformers') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
