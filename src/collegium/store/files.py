"""Whole-file writes on the local disk: a reader sees the old file or the new one, never a part."""

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Create or replace `path` in one step, durably.

    Args:
        path: The file to write; missing folders are made.
        write: Called once with the open binary file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with temporary.open("wb") as out:
            write(out)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Create or replace a text file in one step, durably."""
    write_whole(path, lambda out: out.write(text.encode()))
