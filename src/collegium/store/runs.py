"""A run directory: self-describing, append-only, resumable from itself, on any fsspec path.

Layout::

    config.yaml                            resolved configuration
    digest.txt                             its digest
    attempts/<N>-<id>.json                 one a start: when, which process, which versions
    rows/<table>/<time>-<id>.jsonl         whole rows; a file is complete or absent
    tables/<table>.parquet                 the rows as columns, written by `finish`
    manifest.json                          SHA-256 of each file, written by `finish`

Beside these stand what a job keeps in files of its own. A row has a `key`; the same key written
twice counts once (the first written wins), so work may be done at least once and is counted exactly
once. A file gets a unique name and appears whole (on local disks it is written beside its place and
renamed, on object stores it is one PUT): the listing is the manifest while a run is going on, and
no kill can leave half a row.

On a local disk one process at a time works in a run directory; a lock file, which the system lets
go of however that process ends, keeps others out.
"""

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout
from fsspec.implementations.local import LocalFileSystem

from collegium.config import Config, digest, dump_yaml
from collegium.core import (
    Clock,
    ConfigError,
    CorruptDataError,
    InvalidInputError,
    NotFoundError,
    SystemClock,
)
from collegium.store.attempts import Attempt, new_attempt, read_attempt
from collegium.store.files import write_whole
from collegium.store.manifest import Manifest
from collegium.store.paths import locate
from collegium.store.tables import Row, parse_row, to_lines, to_parquet

_STAMP = "%Y%m%dT%H%M%S%f"
_MANIFEST = "manifest.json"
_ROWS = ".jsonl"
_REMADE = (_MANIFEST, "report.html", "summary.json", "vectors/")
"""What may be made again from the rest at any time, so no manifest can vouch for it."""


class RunDirectory:
    """Typed access to one run directory; pickles as its path, not as a connection."""

    def __init__(self, path: str, clock: Clock | None = None) -> None:
        self.path = path.rstrip("/")
        self._clock = clock or SystemClock()
        self._lock: FileLock | None = None
        self._attempt: tuple[str, Attempt] | None = None

    def __reduce__(self) -> tuple[type[Self], tuple[str, Clock]]:
        return type(self), (self.path, self._clock)

    @property
    def on_disk(self) -> bool:
        """Whether the directory is a folder of this machine's file system."""
        return isinstance(self._fs, LocalFileSystem)

    @property
    def _fs(self) -> Any:
        return locate(self.path)[0]

    def _at(self, *parts: str) -> str:
        return "/".join([locate(self.path)[1].rstrip("/"), *parts])

    def open(self, config: Config) -> "RunDirectory":
        """Create the directory, or resume it, for as long as this object lives.

        Raises:
            InvalidInputError: Another process works in it; the message names it.
            ConfigError: It cannot be made, or was made by another configuration.
        """
        self._hold()
        self._claim(config)
        number = len(self._list("attempts")) + 1
        file = f"attempts/{number}-{uuid.uuid4().hex[:8]}.json"
        attempt = new_attempt(number, self._clock.now())
        self._attempt = file, attempt
        self.write_text(file, attempt.model_dump_json(indent=1))
        return self

    def note_versions(self, **versions: str) -> None:
        """Add versions of data or evaluators to what this attempt says of itself."""
        if self._attempt is None:
            raise InvalidInputError(f"{self.path} is not open: an attempt notes what it works with")
        file, attempt = self._attempt
        noted = attempt.model_copy(update={"versions": attempt.versions | versions})
        self._attempt = file, noted
        self.write_text(file, noted.model_dump_json(indent=1))

    def _hold(self) -> None:
        if not self.on_disk:
            return
        folder = Path(self._at())
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"the run directory {self.path} cannot be made ({error.strerror}): use another path"
            ) from None
        lock = FileLock(folder / ".lock", is_singleton=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise InvalidInputError(self._told_holder()) from None
        self._lock = lock

    def _told_holder(self) -> str:
        holder = next(iter(self.attempts()[-1:]), None)
        who = f"process {holder.pid} on {holder.host}" if holder else "another process"
        return (
            f"{self.path} is being worked on by {who}: wait until it ends, or end it, or use "
            "another run directory"
        )

    def _claim(self, config: Config) -> None:
        mine = digest(config)
        if not self.exists("digest.txt"):
            self.write_text("config.yaml", dump_yaml(config))
            self.write_text("digest.txt", mine)
        elif (theirs := self.read_text("digest.txt").strip()) != mine:
            self._lock = None
            raise ConfigError(
                f"{self.path} was made with configuration {theirs}, not {mine}: "
                "use its own config.yaml to resume it, or another directory"
            )

    def append(self, table: str, rows: Sequence[Row]) -> None:
        """Store `rows` (each with a `key`) durably; returns when they would survive a kill."""
        stamp = self._clock.now().strftime(_STAMP)
        self.write_text(f"rows/{table}/{stamp}-{uuid.uuid4().hex}{_ROWS}", to_lines(rows))

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Yield each row once, oldest first; a repeated key counts once.

        Raises:
            CorruptDataError: A line is no row; the message names file and line.
        """
        seen: set[str] = set()
        for file in self._row_files(table):
            with self._fs.open(file, "rb") as lines:
                for number, line in enumerate(lines, start=1):
                    row = parse_row(line, file, number)
                    if row["key"] not in seen:
                        seen.add(row["key"])
                        yield row

    def keys(self, table: str) -> set[str]:
        """Return the keys stored so far: the work that need not be done again."""
        return {row["key"] for row in self.rows(table)}

    def attempts(self) -> list[Attempt]:
        """Return the starts of the run, oldest first; raises CorruptDataError naming the file."""
        attempts = (read_attempt(self._fs.cat_file(file), file) for file in self._list("attempts"))
        return sorted(attempts, key=lambda attempt: attempt.started)

    def starts(self) -> list[datetime]:
        """Return when the run was started and resumed, oldest first."""
        return [attempt.started for attempt in self.attempts()]

    def active_seconds(self) -> float:
        """Return the time at work: from each start to the last row stored before the next one."""
        stored = sorted(_stored(file) for name in self._tables() for file in self._row_files(name))
        starts = self.starts()
        total = 0.0
        for start, end in zip(starts, [*starts[1:], None], strict=True):
            mine = [at for at in stored if at >= start and (end is None or at < end)]
            total += (mine[-1] - start).total_seconds() if mine else 0.0
        return total

    def finish(self) -> None:
        """Write each table as Parquet, and a manifest of all files with their digests."""
        tables = {}
        for name in self._tables():
            rows = list(self.rows(name))
            self.write_bytes(f"tables/{name}.parquet", to_parquet(rows))
            tables[name] = len(rows)
        manifest = Manifest(rows=tables, files=self._digests())
        self.write_text(_MANIFEST, manifest.model_dump_json(indent=1))

    def _tables(self) -> list[str]:
        """Return the names of the tables that have rows."""
        names = [path.rsplit("/", 1)[1] for path in self._list("rows")]
        return [name for name in names if self._row_files(name)]

    def _row_files(self, table: str) -> list[str]:
        """Return the files of a table's rows, oldest first, without what somebody put beside."""
        return [file for file in self._list("rows", table) if file.endswith(_ROWS)]

    def manifest(self) -> Manifest:
        """Return what the finished run consists of.

        Raises:
            NotFoundError: There is no such run, or it is not finished.
            CorruptDataError: The manifest cannot be read.
        """
        if not self.exists(_MANIFEST):
            self.read_text("digest.txt")  # tells that this is no run directory
            raise NotFoundError(f"{self.path} is not finished: resume it")
        return Manifest.parse(self.read_text(_MANIFEST), self.path)

    def _digests(self) -> dict[str, str]:
        """Return the SHA-256 of each file by its name below the run directory."""
        root = self._at() + "/"
        names = sorted(file.removeprefix(root) for file in self._fs.find(root))
        return {
            name: _sha256(self._fs, root + name)
            for name in names
            if not name.startswith((*_REMADE, ".")) and "/." not in name
        }

    def write_text(self, name: str, text: str) -> None:
        """Create or replace a file in one step, durably."""
        self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, data: bytes) -> None:
        """Create or replace a file in one step, durably."""
        target = self._at(*name.split("/"))
        if self.on_disk:
            write_whole(Path(target), lambda out: out.write(data))
        else:
            self._fs.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._fs.pipe_file(target, data)

    def read_text(self, name: str) -> str:
        """Return a file's text; raises NotFoundError or CorruptDataError naming the path."""
        try:
            return self.read_bytes(name).decode()
        except UnicodeDecodeError as error:
            raise CorruptDataError(f"{self.path}/{name} is no text ({error}): restore it") from None

    def read_bytes(self, name: str) -> bytes:
        """Return a file's content; raises NotFoundError naming the path."""
        target = self._at(*name.split("/"))
        if not self._fs.exists(target):
            raise NotFoundError(f"{self.path} has no {name}: is it a run directory?")
        data: bytes = self._fs.cat_file(target)
        return data

    def exists(self, name: str) -> bool:
        """Return whether the file is there."""
        return bool(self._fs.exists(self._at(*name.split("/"))))

    def _list(self, *parts: str) -> list[str]:
        """Return the paths in a folder by name; hidden ones are the rest of killed writes."""
        root = self._at(*parts)
        if not self._fs.exists(root):
            return []
        return sorted(p for p in self._fs.ls(root, detail=False) if "/." not in p[len(root) :])


def _sha256(fs: Any, file: str) -> str:
    with fs.open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _stored(file: str) -> datetime:
    """Return when a file of rows was written, from its name."""
    stamp = file.rsplit("/", 1)[1].partition("-")[0]
    try:
        return datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        raise CorruptDataError(
            f"{file}: rows are in files named by their time; remove it"
        ) from None
