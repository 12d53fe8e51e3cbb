"""Serving on this machine until SIGINT or SIGTERM."""

import contextlib
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import FileLock, Timeout
from ray import serve
from ray.exceptions import RayError

from collegium.core import ConfigError, EngineError
from collegium.runtime.cluster import ray_cluster
from collegium.runtime.serve.configs import (
    LocalConfig,
    NoopArgs,
    RetrievalArgs,
    ServeConfig,
    ServeNoopConfig,
    ServiceArgs,
)
from collegium.runtime.serve.deployments import build_noop, build_retrieval, build_service
from collegium.runtime.serve.proxy import CALLBACK, CALLBACK_VARIABLE
from collegium.store.database import Database

_NAME = "collegium"
_FOR_PROXIES = {
    CALLBACK_VARIABLE: CALLBACK,
    # Serve ends proxies that are not up after three times 5 s; busy machines need longer.
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "30",
    # Three looks find a proxy dead, which nobody can call meanwhile; they are 10 s apart otherwise.
    "RAY_SERVE_PROXY_HEALTH_CHECK_PERIOD_S": "2",
}
"""Variables of Ray Serve."""


@contextlib.contextmanager
def serving(config: ServeConfig | ServeNoopConfig) -> Iterator[str]:
    """Serve within the context; gives the address.

    Raises:
        ConfigError: The port is taken, Serve runs on the cluster already, or the database does not
            fit.
        EngineError: Ray or Serve did not start.
        UnavailableError: The database does not answer.
    """
    # The database is held until the end: an embedded server starts before the first replica asks.
    with (
        reserved(config.host, config.port),
        _database(config.service),
        _for_proxies(),
        ray_cluster(config.ray_address),
        _started(config),
    ):
        serve.run(_build(config.service), name=_NAME, route_prefix="/")
        yield _address(config.host, config.port)


def _build(args: NoopArgs) -> serve.Application:
    match args:
        case RetrievalArgs():
            return build_retrieval(args)
        case ServiceArgs():
            return build_service(args)
        case _:
            return build_noop(args)


@contextlib.contextmanager
def _database(args: NoopArgs) -> Iterator[None]:
    """Hold the database open for an application that has one."""
    if not isinstance(args, ServiceArgs):
        yield
        return
    with contextlib.closing(Database.open(args.database)):
        yield


def serve_until_told(
    config: ServeConfig | ServeNoopConfig, announce: Callable[[str], None]
) -> None:
    """Serve, `announce` the address, and end in order once SIGINT or SIGTERM came, however early.

    Standard output is left to `announce`: Ray's notices of what died go to standard error.

    Raises:
        ConfigError, EngineError, UnavailableError: As `serving`.
    """
    told = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told.set())
    with contextlib.redirect_stdout(sys.stderr), serving(config) as address:
        announce(address)
        told.wait()


@contextlib.contextmanager
def reserved(host: str, port: int) -> Iterator[None]:
    """Keep `port` for the context; raises ConfigError if it is taken.

    Serve's proxies share a port with whatever else of the same account does (SO_REUSEPORT), and
    listen only some seconds from now; a lock keeps a second service from starting meanwhile.
    """
    lock = FileLock(Path(tempfile.gettempdir()) / f"collegium-serve-{os.geteuid()}-{port}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise _taken(host, port, "another `collegium serve` starts or runs there") from None
    with lock:
        _check_free(host, port)
        yield


@contextlib.contextmanager
def _started(config: LocalConfig) -> Iterator[None]:
    """Start Serve, and end it with all its applications unless others have come to use it."""
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    if serve.status().proxies:
        raise ConfigError(
            f"Serve runs on {config.ray_address} already, with options of its own: add the service "
            "with `serve deploy serve/config.yaml`, or end what runs with `serve shutdown`"
        )
    try:
        serve.start(http_options={"host": config.host, "port": config.port})
    except (RayError, TimeoutError) as error:
        raise EngineError(
            f"Ray Serve did not start ({type(error).__name__}): is the machine too busy? Try again"
        ) from error
    try:
        yield
    finally:
        serve.delete(_NAME)
        if not serve.status().applications:
            serve.shutdown()


@contextlib.contextmanager
def _for_proxies() -> Iterator[None]:
    """Set up the proxies of a cluster that this process starts, but for what is set already."""
    added = {name: value for name, value in _FOR_PROXIES.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _check_free(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise _taken(host, port, error.strerror or str(error)) from None


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _taken(host: str, port: int, why: str) -> ConfigError:
    return ConfigError(
        f"port {port} on {host}: {why}; choose others with --port and --host, or end what is there"
    )
