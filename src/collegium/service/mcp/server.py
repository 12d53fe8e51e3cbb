"""Operations as tools. A failed call is a tool result with the error envelope, marked as an error.

The low-level server of the official package is used, because tools come from the registry as data:
their schemas are those of the operations, not of Python functions.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import BaseModel
from starlette.requests import Request

from collegium import __version__
from collegium.core import CollegiumError
from collegium.service.errors import envelope
from collegium.service.operations import Caller, Door, Gateway, Incoming, Operation, Registry, Scope
from collegium.service.request_ids import new_request_id

Context = ServerRequestContext[Any, Request]
Admit = Callable[[Context], Awaitable[Caller]]
"""Finds out who calls, and counts the call."""
RequestId = Callable[[Context], str]
"""Finds or makes the id of the request."""


def build_mcp_server(
    registry: Registry, gateway: Gateway, admit: Admit, request_id: RequestId
) -> Server[Any]:
    """Return the server; operations whose answers hold secrets are left out."""
    offered = Registry(operation for operation in registry if not operation.secret)
    tools = [_tool(operation) for operation in offered]

    async def list_tools(_: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        arguments = params.arguments or {}
        identity = request_id(context)
        try:
            operation = offered[params.name]
            incoming = _incoming(arguments, lambda: admit(context), identity)
            return _result(await gateway.call(operation, incoming), failed=False)
        except CollegiumError as error:
            return _result(envelope(error, identity), failed=True)

    return Server(
        "collegium", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool
    )


async def serve_stdio(registry: Registry, gateway: Gateway, key: str) -> None:
    """Serve one client over standard input and output until it hangs up.

    Raises:
        UnauthenticatedError: `key` is none; later, when it ends, each call is refused.
    """
    await gateway.keys.identify(key)
    server = build_mcp_server(
        registry, gateway, lambda _: gateway.admit(key), lambda _: new_request_id()
    )
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _tool(operation: Operation[Any, Any]) -> Tool:
    writes = operation.method == "POST"
    changes = writes and operation.scope is not Scope.READ
    return Tool(
        name=operation.name,
        description=f"{operation.summary} (scope: {operation.scope.value})",
        input_schema=operation.input.model_json_schema(),
        output_schema=operation.output.model_json_schema(mode="serialization"),
        annotations=ToolAnnotations(
            read_only_hint=not writes,
            destructive_hint=changes and not operation.takes_idempotency_key,
            idempotent_hint=operation.takes_idempotency_key,
            open_world_hint=False,
        ),
    )


def _incoming(
    arguments: dict[str, Any], admit: Callable[[], Awaitable[Caller]], request_id: str
) -> Incoming:
    namespace = arguments.get("namespace")

    async def read() -> dict[str, Any]:
        return arguments

    return Incoming(
        door=Door.MCP,
        admit=admit,
        request_id=request_id,
        namespace=namespace if isinstance(namespace, str) else None,
        read=read,
    )


def _result(answer: BaseModel, *, failed: bool) -> CallToolResult:
    text = answer.model_dump_json(exclude_none=failed)
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=answer.model_dump(mode="json", exclude_none=failed),
        is_error=failed,
    )
