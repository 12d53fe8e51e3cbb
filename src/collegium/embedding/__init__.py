"""Text embedders behind one protocol, and a cache of their vectors by content."""

from collegium.embedding.cache import CachedEmbedder
from collegium.embedding.configs import (
    E5Config,
    EmbedderConfig,
    HashConfig,
    MiniLMConfig,
    PluginEmbedderConfig,
    build_embedder,
)
from collegium.embedding.hashing import HashEmbedder
from collegium.embedding.protocol import Embedder

__all__ = [
    "CachedEmbedder",
    "E5Config",
    "Embedder",
    "EmbedderConfig",
    "HashConfig",
    "HashEmbedder",
    "MiniLMConfig",
    "PluginEmbedderConfig",
    "build_embedder",
]
