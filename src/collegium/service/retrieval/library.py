"""The vectors of all namespaces on disk: a read model of the ledger, for one writer and readers.

Layout of its folder::

    <settings>/progress.json                        up to which event everything is in
    <settings>/namespaces/<namespace>/<grammar>/    an index

`<settings>` names embedder, chunking and ledger by their content, so that other settings begin
another library. A chunk's partition is the position of the event that brought it, so a search "as
of" a position can be repeated later with the same result. The writer adds before it moves the
progress: what a reader finds beyond the progress is left out by the filter, and what a killed
writer adds again is a duplicate.
"""

import shutil
from collections.abc import Sequence
from heapq import nlargest
from itertools import chain
from pathlib import Path
from typing import Literal
from uuid import UUID

from pydantic import ValidationError

from collegium.core import Chunk, CorruptDataError, Record, content_id
from collegium.embedding import Embedder
from collegium.experience import MemoryConfig, VectorIndex
from collegium.experience.index import IndexHeader, open_index
from collegium.store.files import write_text


class Progress(Record):
    """How far a library has come."""

    schema_version: Literal[1] = 1
    position: int = 0
    """All contributions up to this event of the ledger are in."""
    newest: int = 0
    """Position of the newest contribution among them."""
    newest_id: UUID | None = None
    """Id of that event; a ledger without it was restored from an older backup."""


class Library:
    """The indexes of all namespaces; for one thread at a time."""

    def __init__(
        self, root: Path, ledger_id: UUID, embedder: Embedder, memory: MemoryConfig
    ) -> None:
        """Open the library in `root` that belongs to these settings and this ledger."""
        made_of = memory.model_dump(mode="json")
        key = content_id([embedder.name, embedder.dimension, made_of, str(ledger_id)], length=16)
        self.directory = root / key
        self._memory = memory
        self._embedder = embedder
        self._indexes: dict[tuple[str, str], VectorIndex] = {}
        self.progress = Progress()

    def read_progress(self) -> Progress:
        """Return how far the writer has come; safe in any thread."""
        file = self.directory / "progress.json"
        try:
            return Progress.model_validate_json(file.read_bytes())
        except FileNotFoundError:
            return Progress()
        except ValidationError as error:
            raise CorruptDataError(
                f"{file}: not the progress of an index ({error}); delete its folder, which is made "
                "again from the ledger"
            ) from None

    def refresh(self) -> Progress:
        """See what the writer has added, and return how far it has come."""
        before, self.progress = self.progress, self.read_progress()
        if before.newest_id != self.progress.newest_id:
            self._refresh_indexes()
        return self.progress

    def index(self, namespace: str, grammar: str) -> VectorIndex | None:
        """Return the index of a namespace for a grammar, None if nothing of it is there."""
        return self._indexes.get((namespace, grammar))

    def grammars(self, namespace: str) -> list[str]:
        """Return the grammars of a namespace's chunks, sorted."""
        return sorted(grammar for known, grammar in self._indexes if known == namespace)

    def newest(self, grammar: str, count: int) -> Sequence[Chunk]:
        """Return the newest chunks of a grammar in all namespaces, newest first."""
        mine = [index for (_, known), index in self._indexes.items() if known == grammar]
        chunks = chain.from_iterable(index.chunks() for index in mine)
        return nlargest(count, chunks, key=lambda chunk: chunk.partition)

    def opened(self, namespace: str, grammar: str) -> VectorIndex:
        """Return the index of a namespace for a grammar, made when it is not there: writer only."""
        key = (namespace, grammar)
        if key not in self._indexes:
            self._indexes[key] = self._open(namespace, grammar)
        return self._indexes[key]

    def reach(self, progress: Progress) -> None:
        """Note how far the library has come, for readers and after a kill: writer only."""
        write_text(self.directory / "progress.json", progress.model_dump_json())
        self.progress = progress

    def clear(self) -> None:
        """Throw everything away, progress first: writer only."""
        (self.directory / "progress.json").unlink(missing_ok=True)
        shutil.rmtree(self.directory / "namespaces", ignore_errors=True)
        self._indexes.clear()
        self.progress = Progress()

    def _refresh_indexes(self) -> None:
        for index in self._indexes.values():
            index.refresh()
        known = {(namespace, _name(grammar)) for namespace, grammar in self._indexes}
        for header in sorted(self.directory.glob("namespaces/*/*/header.json")):
            namespace, name = header.parts[-3:-1]
            if (namespace, name) not in known:
                index = open_index(self._memory.index, header.parent)
                self._indexes[namespace, index.header.grammar] = index

    def _open(self, namespace: str, grammar: str) -> VectorIndex:
        header = IndexHeader(
            embedder=self._embedder.name, dimension=self._embedder.dimension, grammar=grammar
        )
        folder = self.directory / "namespaces" / namespace / _name(grammar)
        return open_index(self._memory.index, folder, header)


def _name(grammar: str) -> str:
    """Return a grammar's folder: its name may hold anything."""
    return content_id(grammar, length=16)
