"""The HTTP door: routes made from a registry, one error envelope, and the MCP door mounted in.

Nothing is imported here: the edge goes into Serve's proxy, which gets few seconds to start.
"""
