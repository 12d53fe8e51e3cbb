"""Retrieval put together: an embedder, the library's reader and writer, rankers, use-cases.

The reader and the writer have the library each to themselves; they meet on the disk.
"""

import os
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
    """Everything of retrieval in one process."""

    def __init__(self, settings: RetrievalSettings, ledger: PostgresLedger, clock: Clock) -> None:
        """Load models, open the library, warm everything, and begin to index.

        Where another process indexes already, this one waits to take its place.

        Raises:
            NotFoundError: A model is not there.
            CorruptDataError: A file of a model or of the library cannot be used.
            ConfigError: The gate has not passed a model.
        """
        data_dir = ledger.database.settings.data_dir
        folder = (settings.folder or data_dir / "retrieval").absolute()
        folder.mkdir(parents=True, exist_ok=True)
        embedder = SharedEmbedder(build_embedder(settings.embedder))
        made_of = (folder, ledger.identity(), embedder, settings.memory)
        self._written = Library(*made_of)
        # The two share a file of vectors, each in threads of its own.
        asked, kept = (CachedEmbedder(embedder, folder / "vectors") for _ in range(2))
        modes = load_modes(
            settings.models,
            SharedEmbedder(asked),
            settings.default_mode,
            allow_ungated=settings.allow_ungated,
        )
        indexer = Indexer(
            ledger, self._written, embedder, settings.memory, kept if settings.models else None
        )
        self._indexer = IndexerThread(indexer, folder / f"{self._written.directory.name}.lock")
        first_stage = FirstStage(Library(*made_of), embedder, settings.candidates)
        first_stage.warm()
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
        self._indexer.start()

    def operations(self) -> tuple[Operation[Any, Any], ...]:
        """Return the use-cases as operations."""
        return retrieval_operations(self._service)

    def stop(self) -> None:
        """End indexing in this process."""
        self._indexer.stop()

    def check_ready(self) -> None:
        """Raise UnavailableError until all is found that had been contributed at the start."""
        reached = self._written.read_progress().position
        if reached < self._wanted:
            raise UnavailableError(
                f"the index is at event {reached}; there were {self._wanted} at the start"
            )
