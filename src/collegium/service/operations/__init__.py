"""Use-cases as data: one definition gives an HTTP route, its OpenAPI entry and an MCP tool.

A definition names the scope a key needs; the gateway is the only way to a handler, whichever door
the caller came through.
"""

from collegium.service.operations.gateway import Door, Gateway, Incoming
from collegium.service.operations.guard import parse_json
from collegium.service.operations.metrics import NO_METRICS, Recorder
from collegium.service.operations.operation import (
    Call,
    Caller,
    Input,
    Namespace,
    NamespacedInput,
    Operation,
    Scope,
)
from collegium.service.operations.registry import Registry

__all__ = [
    "NO_METRICS",
    "Call",
    "Caller",
    "Door",
    "Gateway",
    "Incoming",
    "Input",
    "Namespace",
    "NamespacedInput",
    "Operation",
    "Recorder",
    "Registry",
    "Scope",
    "parse_json",
]
