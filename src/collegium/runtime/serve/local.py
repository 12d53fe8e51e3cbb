"""Serving on this machine until SIGINT or SIGTERM."""

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator

from ray import serve

from collegium.core import ConfigError
from collegium.runtime.cluster import ray_cluster
from collegium.runtime.serve.configs import ServeConfig
from collegium.runtime.serve.deployments import build_service
from collegium.store.database import Database

_NAME = "collegium"


@contextlib.contextmanager
def serving(config: ServeConfig) -> Iterator[str]:
    """Serve within the context; gives the address.

    Raises:
        ConfigError: The port is taken, or the database does not fit.
        UnavailableError: The database does not answer.
    """
    check_free(config.host, config.port)
    # Held until the end, so that an embedded server starts before the first replica asks for it.
    with (
        contextlib.closing(Database.open(config.service.database)),
        ray_cluster(config.ray_address),
    ):
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        serve.start(http_options={"host": config.host, "port": config.port})
        try:
            serve.run(build_service(config.service), name=_NAME, route_prefix="/")
            yield f"http://{config.host}:{config.port}"
        finally:
            # Only ours: on a cluster of others' their applications go on.
            serve.delete(_NAME)


def wait_for_signal() -> None:
    """Return once the process is told to end."""
    told = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told.set())
    told.wait()


def check_free(host: str, port: int) -> None:
    """Raise ConfigError if `port` cannot be listened on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ConfigError(
                f"port {port} on {host}: {os.strerror(error.errno or 0)}; end what listens there, "
                f"or choose another with --port"
            ) from None
