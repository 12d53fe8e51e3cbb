"""What a retrieval service is made of."""

from pathlib import Path

from pydantic import Field

from collegium.config import Config
from collegium.embedding import EmbedderConfig, MiniLMConfig
from collegium.experience import MemoryConfig

SIMILARITY = "similarity"
"""The mode that keeps the first stage's order."""


class ExplorationConfig(Config):
    """How often another than the best candidate stands first, so that its worth is learnt."""

    rate: float = Field(default=0.05, ge=0.0, le=1.0)
    """Share of retrievals that draw what stands first at random; 0: never, and recorded so."""
    over: int = Field(default=5, ge=1, le=20)
    """The draw is uniform over this many of the best candidates."""
    seed: int = 0
    """With a retrieval's id it decides the draw, which can so be drawn again."""


class RetrievalSettings(Config):
    """Where a service finds chunks, and how it orders them."""

    folder: Path | None = None
    """Of the index, on a local disk; null: `retrieval` in the database's data directory. It is
    made again from the ledger when it is lost. Replicas on one machine share it."""
    embedder: EmbedderConfig = MiniLMConfig()
    """Embeds keys and queries; another one makes another index."""
    memory: MemoryConfig = MemoryConfig()
    """Which trajectories become chunks, and where these are searched."""
    models: tuple[Path, ...] = ()
    """Folders of trained rankers; each serves as the mode of its folder's name."""
    allow_ungated: bool = False
    """Also serve models that the gate has not passed; each answer then says so."""
    default_mode: str = SIMILARITY
    """Mode of the requests that name none."""
    candidates: int = Field(default=20, ge=1, le=100)
    """Candidates of the first stage that are ordered."""
    exploration: ExplorationConfig = ExplorationConfig()
    """How often something else stands first."""
