"""Applications of Ray Serve: the service, with retrieval or without, and one that does nothing.

A replica opens its own database connections; arguments travel, connections do not.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import ray
from ray import serve

from collegium.runtime.serve.configs import NoopArgs, RetrievalArgs, ServiceArgs
from collegium.store.settings import require_server

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_LOOK_EVERY_S = 2.0
"""Between two looks at each replica, so that one that was killed is replaced within seconds."""

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Service:
    """The service as a deployment."""

    def __init__(self, args: ServiceArgs, *_: object) -> None:
        """Take the arguments; `__serve_build_asgi_app__` makes the application of them.

        What else is given are handles of deployments that live as long as this one.
        """
        self._args = args

    def __serve_build_asgi_app__(self) -> "ASGIApp":
        """Open the database and return the application; Serve calls this in the replica."""
        from collegium.runtime.serve.metrics import RayRecorder
        from collegium.service.application import ServiceApplication
        from collegium.service.http.limits import Limits
        from collegium.service.logs import configure_logs
        from collegium.store.database import Database

        args = self._args
        configure_logs(args.verbosity)
        application = ServiceApplication(
            Database.open(args.database),
            recorder=RayRecorder(),
            replicas=args.replicas,
            retrieval=args.offered,
            indexes=False,
            checkpoint_every_s=args.checkpoint_every_s,
            places_of_a_key=max(1, args.max_ongoing_requests // 2),
        )
        limits = Limits(
            args.max_body_bytes, args.max_header_bytes, args.max_headers, args.max_body_seconds
        )
        return application.http_app(limits, echo_request_ids=False)


class Indexing:
    """What fills the index of retrieval as a deployment; it answers nobody."""

    def __init__(self, args: RetrievalArgs) -> None:
        """Open the database and begin."""
        from collegium.service.logs import configure_logs
        from collegium.service.retrieval import Indexing
        from collegium.store.database import Database
        from collegium.store.ledger.postgres import PostgresLedger

        configure_logs(args.verbosity)
        self._indexing = Indexing(args.retrieval, PostgresLedger(Database.open(args.database)))


class Noop:
    """The application that does nothing as a deployment."""

    def __serve_build_asgi_app__(self) -> "ASGIApp":
        """Return the application."""
        from collegium.service.http.noop import noop_app

        return noop_app()


def build_service(args: ServiceArgs) -> serve.Application:
    """Return the service; raises ConfigError on several nodes with an embedded database."""
    require_server(args.database, sum(node["Alive"] for node in ray.nodes()))
    return _deploy(Service, _options(args), args)


def build_retrieval(args: RetrievalArgs) -> serve.Application:
    """Return the service with retrieval; raises ConfigError as `build_service` does."""
    require_server(args.database, sum(node["Alive"] for node in ray.nodes()))
    options = _options(args, dict.fromkeys(_THREADS, str(args.threads)))
    # One fills the index of all replicas, in a process of its own: it computes all the time.
    worker = serve.deployment(Indexing, name="indexing", **{**options, "num_replicas": 1})
    return _deploy(Service, options, args, worker.bind(args))


def build_noop(args: NoopArgs) -> serve.Application:
    """Return the application that does nothing."""
    return _deploy(Noop, _options(args))


def _deploy(kind: type, options: Mapping[str, Any], *given: Any) -> serve.Application:
    deployment = serve.deployment(serve.ingress()(kind), name=kind.__name__.lower(), **options)
    application: serve.Application = deployment.bind(*given)
    return application


def _options(
    args: NoopArgs, environment: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    return {
        "num_replicas": args.replicas,
        "max_ongoing_requests": args.max_ongoing_requests,
        "max_queued_requests": args.max_queued_requests,
        "health_check_period_s": _LOOK_EVERY_S,
        "ray_actor_options": {"num_cpus": 0, "runtime_env": {"env_vars": dict(environment)}},
        "logging_config": {"enable_access_log": False, "encoding": "JSON"},
    }
