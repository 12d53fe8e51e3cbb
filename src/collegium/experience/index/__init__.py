"""Vector indexes of chunks behind one protocol: exact (default) and plug-ins."""

from collegium.experience.index.configs import (
    ExactIndexConfig,
    IndexConfig,
    PluginIndexConfig,
    open_index,
)
from collegium.experience.index.exact import ExactIndex
from collegium.experience.index.protocol import (
    Census,
    Hit,
    IndexHeader,
    Scope,
    SearchFilter,
    VectorIndex,
)

__all__ = [
    "Census",
    "ExactIndex",
    "ExactIndexConfig",
    "Hit",
    "IndexConfig",
    "IndexHeader",
    "PluginIndexConfig",
    "Scope",
    "SearchFilter",
    "VectorIndex",
    "open_index",
]
