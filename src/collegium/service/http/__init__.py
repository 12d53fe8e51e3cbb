"""The HTTP door: routes made from a registry, one error envelope, and the MCP door mounted in."""

from collegium.service.http.app import build_http_app
from collegium.service.http.health import Probes
from collegium.service.http.limits import Limits

__all__ = ["Limits", "Probes", "build_http_app"]
