"""What serving needs beside the base install."""

from importlib.util import find_spec

from collegium.core import MissingDependencyError

_NEEDED = ("fastapi", "mcp", "ray")


def require_serve() -> None:
    """Raise MissingDependencyError, which names the extra, where a package is missing."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingDependencyError(
            f"serving needs {', '.join(missing)}: pip install 'collegium[serve]'"
        )
