"""Retrieval put together: what answers, and what fills the index, in one process or in two.

Each has the library and the embedder to itself; they meet on the disk.
"""

import os
from pathlib import Path
from typing import Any

from collegium.core import Clock, UnavailableError
from collegium.embedding import CachedEmbedder, build_embedder
from collegium.embedding.shared import SharedEmbedder
from collegium.service.operations import Operation
from collegium.service.retrieval.first_stage import FirstStage
from collegium.service.retrieval.indexer import Indexer, IndexerThread
from collegium.service.retrieval.library import Library
from collegium.service.retrieval.offers import retrieval_operations
from collegium.service.retrieval.orders import load_modes
from collegium.service.retrieval.settings import RetrievalSettings
from collegium.service.retrieval.use_cases import RetrievalService
from collegium.store.ledger.postgres import PostgresLedger


class Retrieval:
    """What answers: the library's reader, the rankers, the use-cases."""

    def __init__(self, settings: RetrievalSettings, ledger: PostgresLedger, clock: Clock) -> None:
        """Load models, open the library, and warm everything.

        Raises:
            NotFoundError: A model is not there.
            CorruptDataError: A file of a model or of the library cannot be used.
            ConfigError: The gate has not passed a model.
        """
        folder = _folder(settings, ledger)
        embedder = SharedEmbedder(build_embedder(settings.embedder))
        modes = load_modes(
            settings.models,
            SharedEmbedder(CachedEmbedder(embedder, folder / "vectors")),
            settings.default_mode,
            allow_ungated=settings.allow_ungated,
        )
        self._library = Library(folder, ledger.identity(), embedder, settings.memory)
        first_stage = FirstStage(self._library, embedder, settings.candidates)
        first_stage.warm()
        modes.prepare(self._library)
        self._service = RetrievalService(
            ledger,
            first_stage,
            modes,
            settings.exploration,
            embedder=embedder.name,
            clock=clock,
            entropy=os.urandom,
        )
        self._wanted = ledger.position()

    def operations(self) -> tuple[Operation[Any, Any], ...]:
        """Return the use-cases as operations."""
        return retrieval_operations(self._service)

    def check_ready(self) -> None:
        """Raise UnavailableError until all is found that had been contributed at the start."""
        reached = self._library.read_progress().position
        if reached < self._wanted:
            raise UnavailableError(
                f"the index is at event {reached}; there were {self._wanted} at the start"
            )


class Indexing:
    """What fills the index, on a thread of its own."""

    def __init__(self, settings: RetrievalSettings, ledger: PostgresLedger) -> None:
        """Begin to index; where another process does already, wait to take its place."""
        folder = _folder(settings, ledger)
        embedder = build_embedder(settings.embedder)
        library = Library(folder, ledger.identity(), embedder, settings.memory)
        parts = CachedEmbedder(embedder, folder / "vectors") if settings.models else None
        indexer = Indexer(ledger, library, embedder, settings.memory, parts)
        self._thread = IndexerThread(indexer, folder / f"{library.directory.name}.lock")
        self._thread.start()

    def stop(self) -> None:
        """End it after the page under way."""
        self._thread.stop()


def _folder(settings: RetrievalSettings, ledger: PostgresLedger) -> Path:
    folder = settings.folder or ledger.database.settings.data_dir / "retrieval"
    folder.mkdir(parents=True, exist_ok=True)
    return folder.absolute()
