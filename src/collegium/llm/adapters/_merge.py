"""Merge a LoRA adapter into its base: W' = W + scale * B A, computed in float32.

vLLM on CPUs prefills about eight times slower with LoRA per request than with merged weights, so
there each adapter becomes a cached checkpoint, named by the content of base and adapter.
"""

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collegium.core import CorruptDataError, InvalidInputError, content_id
from collegium.llm._cache import cache_root, cached_directory, directory_digests
from collegium.llm.adapters._find import CONFIG, WEIGHTS

_PREFIX = "base_model.model."
_A, _B = ".lora_A.weight", ".lora_B.weight"
_MUST_BE_ABSENT = ("use_dora", "modules_to_save", "rank_pattern", "alpha_pattern", "fan_in_fan_out")


def merged_checkpoint(model: Path, adapter: Path) -> Path:
    """Return a checkpoint of the base's architecture and dtype with the adapter merged in.

    Args:
        model: Folder with the base checkpoint in safetensors.
        adapter: Folder of a plain LoRA adapter.

    Raises:
        InvalidInputError: The adapter is not plain LoRA.
        CorruptDataError: The adapter changes a weight the base does not have.
    """
    key = content_id({"base": directory_digests(model), "adapter": _adapter_digests(adapter)})
    target = cache_root() / "merged" / f"{adapter.name}-{key[:16]}"
    return cached_directory(target, lambda fresh: _merge(model, adapter, fresh))


def _adapter_digests(adapter: Path) -> dict[str, str]:
    digests = directory_digests(adapter)
    return {name: digests[name] for name in (WEIGHTS, CONFIG)}


def _merge(model: Path, adapter: Path, target: Path) -> None:
    from safetensors.torch import load_file, save_file

    scale = _scale(adapter)
    lora = load_file(adapter / WEIGHTS)
    changed = {name.removeprefix(_PREFIX).removesuffix(_A) for name in lora if name.endswith(_A)}
    missing = set(changed)
    for file in model.iterdir():
        if file.suffix == ".safetensors":
            weights = load_file(file)
            here = {name for name in changed if f"{name}.weight" in weights}
            for name in here:
                weights[f"{name}.weight"] = _merged(weights[f"{name}.weight"], lora, name, scale)
            save_file(weights, target / file.name, metadata={"format": "pt"})
            missing -= here
        elif file.is_file():
            shutil.copy(file, target)
    if missing or not changed:
        which = min(missing, default="no weight at all")
        raise CorruptDataError(f"adapter {adapter} changes {which}, not found in base {model}")


def _merged(weight: Any, lora: Mapping[str, Any], name: str, scale: float) -> Any:
    """Return W + scale * B A for W of shape (out, in), in the dtype of W."""
    down = lora[f"{_PREFIX}{name}{_A}"].float()
    up = lora[f"{_PREFIX}{name}{_B}"].float()
    return (weight.float() + scale * (up @ down)).to(weight.dtype)


def _scale(adapter: Path) -> float:
    config: dict[str, Any] = json.loads((adapter / CONFIG).read_text())
    unsupported = [key for key in _MUST_BE_ABSENT if config.get(key)]
    if config.get("bias", "none") != "none" or unsupported:
        raise InvalidInputError(
            f"{adapter / CONFIG}: only plain LoRA can be merged, found "
            f"{', '.join(unsupported) or 'bias'}: merge it with PEFT and give the result's path"
        )
    rank, alpha = float(config["r"]), float(config["lora_alpha"])
    return alpha / (math.sqrt(rank) if config.get("use_rslora") else rank)
