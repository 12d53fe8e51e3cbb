"""`collegium serve`: the service on this machine, over HTTP or for one MCP client over stdio."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from collegium.service.applications import ServedApplication

if TYPE_CHECKING:
    from collegium.runtime.serve.configs import ServeConfig, ServeNoopConfig

KEY_VARIABLE = "COLLEGIUM_KEY"


def serve(
    application: Annotated[
        ServedApplication, typer.Argument(help="what to serve")
    ] = ServedApplication.SERVICE,
    config: Annotated[list[str] | None, typer.Argument(help="YAML files; later ones win")] = None,
    overrides: Annotated[
        list[str] | None, typer.Option("-s", "--set", help="override one setting: a.b=c")
    ] = None,
    host: Annotated[str | None, typer.Option(help="address to listen on")] = None,
    port: Annotated[int | None, typer.Option(help="port to listen on")] = None,
    stdio: Annotated[
        bool, typer.Option("--stdio", help=f"serve one MCP client, with the key in {KEY_VARIABLE}")
    ] = False,
    allow_ungated: Annotated[
        bool, typer.Option("--allow-ungated", help="serve rankers that the gate has not passed")
    ] = False,
    dry_run: Annotated[bool, typer.Option(help="print the settings, start nothing")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Serve until told to end: HTTP under /v1, MCP at /mcp, the document at /openapi.json."""
    from collegium.config import dump_yaml, load
    from collegium.service.extras import require_serve

    require_serve()
    from collegium.runtime.serve.configs import ServeConfig

    flags = {"host": host, "port": port}
    if allow_ungated:
        flags["service.retrieval.allow_ungated"] = "true"
    given = [f"{name}={value}" for name, value in flags.items() if value is not None]
    settings = load(_kind(application), config or [], [*(overrides or []), *given])
    if dry_run:
        print(settings.model_dump_json(indent=1) if as_json else dump_yaml(settings))
        return
    if not stdio:
        _serve_http(settings, as_json)
    elif isinstance(settings, ServeConfig):
        _serve_stdio(settings)
    else:
        raise typer.BadParameter("the application that does nothing has no --stdio")


def _kind(application: ServedApplication) -> "type[ServeConfig | ServeNoopConfig]":
    from collegium.runtime.serve.configs import ServeConfig, ServeNoopConfig, ServeRetrievalConfig

    match application:
        case ServedApplication.SERVICE:
            return ServeConfig
        case ServedApplication.RETRIEVAL:
            return ServeRetrievalConfig
        case ServedApplication.NOOP:
            return ServeNoopConfig


def _serve_stdio(settings: "ServeConfig") -> None:
    from contextlib import closing

    from collegium.core import ConfigError
    from collegium.service.application import ServiceApplication
    from collegium.store.database import Database

    key = os.environ.get(KEY_VARIABLE)
    if not key:
        raise ConfigError(f"{KEY_VARIABLE} is not set: `collegium key mint` makes a key")
    with (
        closing(Database.open(settings.service.database)) as database,
        closing(ServiceApplication(database, retrieval=settings.service.offered)) as application,
    ):
        application.serve_stdio(key)


def _serve_http(settings: "ServeConfig | ServeNoopConfig", as_json: bool) -> None:
    from collegium.runtime.serve.local import serve_until_told

    out = sys.stdout

    def announce(address: str) -> None:
        text = f'{{"address": "{address}"}}' if as_json else f"serving at {address}; Ctrl-C ends it"
        print(text, file=out, flush=True)

    serve_until_told(settings, announce)
