"""Vector indexes of chunks behind one protocol: exact (default), LanceDB, plug-ins."""

from collegium.experience.index.configs import (
    ExactIndexConfig,
    IndexConfig,
    LanceIndexConfig,
    PluginIndexConfig,
    open_index,
)
from collegium.experience.index.exact import ExactIndex
from collegium.experience.index.lance import LanceIndex
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
    "LanceIndex",
    "LanceIndexConfig",
    "PluginIndexConfig",
    "Scope",
    "SearchFilter",
    "VectorIndex",
    "open_index",
]
