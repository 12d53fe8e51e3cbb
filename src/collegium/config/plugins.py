"""Third-party backends: entry points, looked up by group and name.

A package that offers one declares it under the group's name, e.g. in its `pyproject.toml`::

    [project.entry-points."collegium.embedders"]
    mine = "my_package.embedder:build"
"""

from importlib import metadata
from typing import Any

from collegium.core import NotFoundError


def load_plugin(group: str, name: str) -> Any:
    """Return the object registered as `name` in `group`; raises NotFoundError with those known."""
    found = {point.name: point for point in metadata.entry_points(group=group)}
    if name not in found:
        known = ", ".join(sorted(found)) or "none is installed"
        raise NotFoundError(f"no plug-in {name!r} in entry-point group {group!r}; known: {known}")
    return found[name].load()
