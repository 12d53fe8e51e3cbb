"""A directory that is built once and checked by hash, however many processes ask for it.

Builders write into a temporary sibling that is renamed when whole, under a file lock. Beside the
files stands `digests.json` with the SHA-256 of each; a directory that no longer agrees with it is
built again, so a truncated or altered cache can never be served.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import structlog
from filelock import FileLock

_DIGESTS = "digests.json"


def cache_root() -> Path:
    """Return the folder of cached checkpoints: `$COLLEGIUM_CACHE`, else `~/.cache/collegium`."""
    return Path(os.environ.get("COLLEGIUM_CACHE") or "~/.cache/collegium").expanduser()


def cached_directory(target: Path, build: Callable[[Path], None]) -> Path:
    """Return `target`, filled by `build` if it is absent or damaged.

    Args:
        target: Where the directory belongs; its parent is created.
        build: Fills the empty directory it is given; it may raise, which leaves nothing behind.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.with_name(f"{target.name}.lock")):
        if target.exists():
            if _intact(target):
                return target
            structlog.get_logger(__name__).warning("damaged cache, rebuilding", path=str(target))
            shutil.rmtree(target)
        fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f"{target.name}.tmp-"))
        try:
            build(fresh)
            (fresh / _DIGESTS).write_text(json.dumps(directory_digests(fresh), indent=1))
            fresh.rename(target)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return target


def directory_digests(directory: Path) -> dict[str, str]:
    """Return the SHA-256 of each file in `directory` (not its subfolders), by name."""
    files = sorted(p for p in directory.iterdir() if p.is_file() and p.name != _DIGESTS)
    return {file.name: file_digest(file) for file in files}


def file_digest(file: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _intact(directory: Path) -> bool:
    record = directory / _DIGESTS
    if not record.is_file():
        return False
    expected: dict[str, str] = json.loads(record.read_text())
    return directory_digests(directory) == expected
