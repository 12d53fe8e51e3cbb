"""Retrieval as a service: ranked guidance, its decisions and outcomes in the ledger, producers."""

from collegium.service.retrieval.assembly import Indexing, Retrieval
from collegium.service.retrieval.settings import ExplorationConfig, RetrievalSettings

__all__ = ["ExplorationConfig", "Indexing", "Retrieval", "RetrievalSettings"]
