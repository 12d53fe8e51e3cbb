"""The MCP door: each operation of the registry is a tool, over streamable HTTP and over stdio."""

from collegium.service.mcp.endpoint import McpEndpoint
from collegium.service.mcp.server import build_mcp_server, serve_stdio

__all__ = ["McpEndpoint", "build_mcp_server", "serve_stdio"]
