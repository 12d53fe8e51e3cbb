"""Vectors kept by content: each text is embedded once by each embedder, on any machine.

The key is (embedder name, SHA-256 of the text). Vectors live in one SQLite file in write-ahead
mode: any number of processes may read and write it, and a kill loses at most the last few hundred
vectors. The folder must be on a local disk. The most recent vectors stay in memory too.
"""

import hashlib
import sqlite3
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from collegium.core import CorruptDataError
from collegium.embedding.protocol import Embedder

_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    embedder TEXT NOT NULL,
    text BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (embedder, text)
)
"""
_BUSY_SECONDS = 60.0
_SLICE = 256
"""Texts embedded between two writes: what a kill can lose."""

Vector = NDArray[np.float32]


class CachedEmbedder:
    """An `Embedder` that asks `inner` only for texts it has not seen; not for several threads."""

    def __init__(self, inner: Embedder, directory: Path, recent: int = 20_000) -> None:
        """Cache `inner` in `directory/embeddings.sqlite`.

        Args:
            inner: Who embeds what is missing.
            directory: Made when it is missing.
            recent: Vectors kept in memory, the least recently used dropped first.

        Raises:
            CorruptDataError: The file is there and is not such a cache.
        """
        self.name = inner.name
        self.dimension = inner.dimension
        self._inner = inner
        self._file = directory / "embeddings.sqlite"
        self._limit = recent
        self._recent: OrderedDict[bytes, Vector] = OrderedDict()
        directory.mkdir(parents=True, exist_ok=True)
        with self._database() as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(_SCHEMA)

    def embed(self, texts: Sequence[str]) -> Vector:
        """See `Embedder.embed`."""
        keys = [hashlib.sha256(text.encode()).digest() for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        found = {key: self._recent[key] for key in wanted if key in self._recent}
        if len(found) < len(wanted):
            found |= self._stored([key for key in wanted if key not in found])
        missing = [key for key in wanted if key not in found]
        for start in range(0, len(missing), _SLICE):
            found |= self._computed({k: wanted[k] for k in missing[start : start + _SLICE]})
        self._remember(found)
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for row, key in zip(vectors, keys, strict=True):
            row[:] = found[key]
        return vectors

    def _stored(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        query = "SELECT vector FROM vectors WHERE embedder = ? AND text = ?"
        found = {}
        with self._database() as database:
            for key in keys:
                row = database.execute(query, (self.name, key)).fetchone()
                if row is not None:
                    found[key] = np.frombuffer(row[0], "<f4").astype(np.float32)
        return found

    def _computed(self, texts: Mapping[bytes, str]) -> dict[bytes, Vector]:
        vectors = self._inner.embed(list(texts.values()))
        rows = [
            (self.name, key, vector.astype("<f4").tobytes())
            for key, vector in zip(texts, vectors, strict=True)
        ]
        with self._database() as database:
            database.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)
        return dict(zip(texts, vectors, strict=True))

    def _remember(self, vectors: Mapping[bytes, Vector]) -> None:
        for key, vector in vectors.items():
            self._recent[key] = vector
            self._recent.move_to_end(key)
        while len(self._recent) > self._limit:
            self._recent.popitem(last=False)

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction: a connection may not cross threads or a fork."""
        try:
            with (
                closing(sqlite3.connect(self._file, timeout=_BUSY_SECONDS)) as database,
                database,
            ):
                database.execute("PRAGMA synchronous = NORMAL")
                yield database
        except sqlite3.OperationalError:  # locked, disk full: the file itself is sound
            raise
        except sqlite3.DatabaseError as error:
            raise CorruptDataError(
                f"{self._file}: not a usable embedding cache ({error}); delete the file, it will "
                "be filled again"
            ) from error
