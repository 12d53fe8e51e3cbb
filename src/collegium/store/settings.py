"""Which database, and where its files lie.

Nothing here imports a driver: settings travel to other processes, connections do not.
"""

import os
import pwd
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from pydantic import Field, SecretStr

from collegium.config import Config
from collegium.core import ConfigError, MissingDependencyError

_SHARED_DATA = Path("/var/lib/collegium")
_PACKAGES = ("alembic", "cryptography", "psycopg", "sqlalchemy")


def default_data_dir() -> Path:
    """Return the folder used when COLLEGIUM_DATA is not set.

    The embedded server never runs as root, and root's own folder is closed to other accounts; so
    root's data lie where services keep theirs.
    """
    if os.geteuid() == 0:
        return _SHARED_DATA
    home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "collegium"


class DatabaseSettings(Config):
    """A PostgreSQL server: the embedded one, or the one that `url` names."""

    url: SecretStr | None = None
    """Address of a server, `postgresql://user:password@host/database`; None: the embedded one."""
    data_dir: Path = Field(default_factory=default_data_dir)
    """Folder of the embedded server; each has its own database."""
    key_dir: Path | None = None
    """Folder of the key that signs checkpoints; None: `keys` in `data_dir`."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> "DatabaseSettings":
        """Return what DATABASE_URL, COLLEGIUM_DATA and COLLEGIUM_KEYS say.

        Raises:
            MissingDependencyError: The extra `store` is not installed.
        """
        require_store()
        given = {
            "url": environ.get("DATABASE_URL") or None,
            "data_dir": environ.get("COLLEGIUM_DATA") or None,
            "key_dir": environ.get("COLLEGIUM_KEYS") or None,
        }
        return cls.model_validate({name: value for name, value in given.items() if value})

    @property
    def keys(self) -> Path:
        """Folder of the signing key and the anchor."""
        return self.key_dir or self.data_dir / "keys"

    def server_name(self) -> str:
        """Return the server as people know it, without secrets."""
        if self.url is None:
            return f"the embedded server in {self.data_dir}"
        address = self.url.get_secret_value().rpartition("@")[2].partition("?")[0]
        return f"the server at {address} (DATABASE_URL)"


def require_server(settings: DatabaseSettings, nodes: int) -> None:
    """Refuse the embedded server, which answers on one machine only, where several nodes work.

    Raises:
        ConfigError: There is more than one node and no address of a server.
    """
    if nodes > 1 and settings.url is None:
        raise ConfigError(
            f"{nodes} Ray nodes cannot share {settings.server_name()}, which listens on a socket "
            "file only: set DATABASE_URL to a PostgreSQL server that all of them reach"
        )


def require_store() -> None:
    """Raise MissingDependencyError, which names the extra, where a package is missing."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingDependencyError(
            f"the database needs {', '.join(missing)}: pip install 'collegium[store]'"
        )
