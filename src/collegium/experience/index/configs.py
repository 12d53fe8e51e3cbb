"""Configurations of the index backends, chosen by `kind`, and how one is opened."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from collegium.config import Config
from collegium.config.plugins import load_plugin
from collegium.experience.index.exact import ExactIndex
from collegium.experience.index.lance import INDEX_ABOVE, LanceIndex
from collegium.experience.index.protocol import IndexHeader, VectorIndex

ENTRY_POINTS = "collegium.indexes"
"""Plug-ins are callables `(directory, header, options) -> VectorIndex`; `header` may be None."""


class ExactIndexConfig(Config):
    """Compare the query with every chunk: exact, repeatable, fastest up to 3 x 10^5 chunks."""

    kind: Literal["exact"] = "exact"


class LanceIndexConfig(Config):
    """A LanceDB table: exact up to `index_above` chunks, approximate and scalable beyond."""

    kind: Literal["lance"] = "lance"
    index_above: int = Field(default=INDEX_ABOVE, ge=0)
    """Chunks up to which every search is an exact scan."""


class PluginIndexConfig(Config):
    """An index that another package registers under the entry-point group `collegium.indexes`."""

    kind: Literal["plugin"] = "plugin"
    name: str
    """The entry point's name."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Passed on as they are."""


IndexConfig = Annotated[
    ExactIndexConfig | LanceIndexConfig | PluginIndexConfig, Field(discriminator="kind")
]


def open_index(
    config: ExactIndexConfig | LanceIndexConfig | PluginIndexConfig,
    directory: Path,
    header: IndexHeader | None = None,
) -> VectorIndex:
    """Open the index in `directory`, or make it when `header` is given and it is not there.

    Raises:
        MissingDependencyError: The backend's packages are not installed.
        NotFoundError: There is no index and no header to make one, or no such plug-in.
        InvalidInputError: The index there has another header.
        CorruptDataError: A file of the index is missing or unreadable.
    """
    match config:
        case ExactIndexConfig():
            return ExactIndex(directory, header)
        case LanceIndexConfig():
            return LanceIndex(directory, header, index_above=config.index_above)
        case PluginIndexConfig():
            index: VectorIndex = load_plugin(ENTRY_POINTS, config.name)(
                directory, header, config.options
            )
            return index
