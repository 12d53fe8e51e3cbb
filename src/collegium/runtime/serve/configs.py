"""Arguments of the builders, and of serving on this machine. Nothing here imports Ray.

The same model takes the `args` of a Serve configuration, `serve run MODULE:BUILDER key=value`, and
`collegium serve`.
"""

from pydantic import Field

from collegium.config import Config
from collegium.service.retrieval.settings import RetrievalSettings
from collegium.store.settings import DatabaseSettings


class NoopArgs(Config):
    """Arguments of the application that does nothing."""

    replicas: int = Field(default=1, ge=1, le=1000)
    """How many processes answer; each gives out its share of a key's calls a minute."""
    max_ongoing_requests: int = Field(default=100, ge=1)
    """Requests that one replica takes at a time."""
    max_queued_requests: int = Field(default=1000, ge=1)
    """Requests that wait while all replicas have as many as they take; more get 503."""


class ServiceArgs(NoopArgs):
    """Arguments of the service."""

    database: DatabaseSettings = Field(default_factory=DatabaseSettings.from_environment)
    """Where the ledger and the keys are; by default what DATABASE_URL and COLLEGIUM_DATA say."""
    max_body_bytes: int = Field(default=1 << 20, ge=1024)
    """Largest body of a request."""
    max_headers: int = Field(default=64, ge=8)
    """Most headers of a request."""
    max_header_bytes: int = Field(default=16 << 10, ge=1024)
    """Names and values of a request's headers together."""
    max_body_seconds: float = Field(default=10.0, gt=0)
    """Longest time that a body may take to arrive."""
    checkpoint_every_s: float | None = Field(default=60.0, ge=1)
    """Seconds from one signing of the ledger to the next; null: leave it to `db checkpoint`."""
    verbosity: int = Field(default=1, ge=0, le=2)
    """Log lines: 0 warnings, 1 also one line for each call, 2 everything."""

    @property
    def offered(self) -> RetrievalSettings | None:
        """What the retrieval is made of that is offered as well; None: none is."""
        return None


class RetrievalArgs(ServiceArgs):
    """Arguments of the service with retrieval."""

    retrieval: RetrievalSettings = RetrievalSettings()
    """Where it finds chunks, and how it orders them."""
    threads: int = Field(default=1, ge=1)
    """Threads of each replica's linear algebra and embedding."""

    @property
    def offered(self) -> RetrievalSettings:
        """What the retrieval is made of."""
        return self.retrieval


class LocalConfig(Config):
    """An application on this machine."""

    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 lets other machines in."""
    port: int = Field(default=8000, ge=1, le=65535)
    """Port to listen on."""
    ray_address: str | None = None
    """Ray cluster to run on; null starts one on this machine."""


class ServeNoopConfig(LocalConfig):
    """The application that does nothing on this machine."""

    service: NoopArgs = NoopArgs()
    """Its arguments."""


class ServeConfig(LocalConfig):
    """The service on this machine."""

    service: ServiceArgs = Field(default_factory=ServiceArgs)
    """Its arguments."""


class ServeRetrievalConfig(ServeConfig):
    """The service with retrieval on this machine."""

    service: RetrievalArgs = Field(default_factory=RetrievalArgs)
    """Its arguments."""
