"""Text embedders behind one protocol."""

from collegium.embedding.protocol import Embedder

__all__ = ["Embedder"]
