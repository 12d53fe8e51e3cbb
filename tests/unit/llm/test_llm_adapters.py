"""Adapters are found by name, merged by the LoRA formula, and bad ones are refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from collegium.core import CorruptDataError, InvalidInputError, NotFoundError
from collegium.llm.adapters import find_adapter, list_adapters, merged_checkpoint

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLLEGIUM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "base"
    folder.mkdir()
    generator = torch.Generator().manual_seed(1)
    weights = {
        f"model.layers.{i}.mlp.up_proj.weight": torch.randn(6, 4, generator=generator)
        for i in range(2)
    }
    for i, (name, weight) in enumerate(weights.items()):
        shard = {name: weight.bfloat16()}
        safetensors.save_file(shard, folder / f"model-0000{i}-of-00002.safetensors")
    (folder / "config.json").write_text('{"model_type": "toy"}')
    return folder


def make_adapter(folder: Path, layers: int, **config: Any) -> Path:
    folder.mkdir()
    generator = torch.Generator().manual_seed(2)
    lora = {}
    for i in range(layers):
        name = f"base_model.model.model.layers.{i}.mlp.up_proj"
        lora[f"{name}.lora_A.weight"] = torch.randn(2, 4, generator=generator)
        lora[f"{name}.lora_B.weight"] = torch.randn(6, 2, generator=generator)
    safetensors.save_file(lora, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"r": 2, "lora_alpha": 8, **config}))
    return folder


@pytest.mark.parametrize(("rslora", "scale"), [(False, 4.0), (True, 8 / 2**0.5)])
def test_merge_is_w_plus_scale_b_a_over_all_shards(
    base: Path, tmp_path: Path, rslora: bool, scale: float
) -> None:
    adapter = make_adapter(tmp_path / "a", 2, use_rslora=rslora)
    merged = merged_checkpoint(base, adapter)
    lora = safetensors.load_file(adapter / "adapter_model.safetensors")
    for i in range(2):
        shard = f"model-0000{i}-of-00002.safetensors"
        name = f"model.layers.{i}.mlp.up_proj"
        before = safetensors.load_file(base / shard)[f"{name}.weight"]
        after = safetensors.load_file(merged / shard)[f"{name}.weight"]
        a = lora[f"base_model.model.{name}.lora_A.weight"]
        b = lora[f"base_model.model.{name}.lora_B.weight"]
        torch.testing.assert_close(after, (before.float() + scale * b @ a).bfloat16())
    assert (merged / "config.json").read_text() == (base / "config.json").read_text()


def test_same_content_is_merged_once_and_new_weights_again(base: Path, tmp_path: Path) -> None:
    adapter = make_adapter(tmp_path / "a", 2)
    first = merged_checkpoint(base, adapter)
    assert merged_checkpoint(base, adapter) == first
    (adapter / "adapter_config.json").write_text(json.dumps({"r": 2, "lora_alpha": 16}))
    assert merged_checkpoint(base, adapter) != first


def test_adapter_of_another_base_is_refused(base: Path, tmp_path: Path) -> None:
    with pytest.raises(CorruptDataError, match=r"model\.layers\.2\.mlp\.up_proj"):
        merged_checkpoint(base, make_adapter(tmp_path / "a", 3))


@pytest.mark.parametrize("extra", [{"use_dora": True}, {"bias": "all"}])
def test_only_plain_lora_is_merged(base: Path, tmp_path: Path, extra: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="only plain LoRA"):
        merged_checkpoint(base, make_adapter(tmp_path / "a", 2, **extra))


def test_unknown_adapter_lists_the_packaged_ones() -> None:
    with pytest.raises(NotFoundError, match="packaged adapters are"):
        find_adapter("no-such-adapter")


def test_every_packaged_adapter_is_found() -> None:
    for name in list_adapters():
        assert (find_adapter(name) / "card.json").is_file()


def test_adapter_without_weights_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(NotFoundError, match=r"adapter_model\.safetensors"):
        find_adapter(str(tmp_path))
