"""The service: HTTP and MCP over one ledger.

Usage: serve run serve.service:app [key=value …], or as a part of `serve deploy serve/config.yaml`.
"""

from collegium.runtime.serve.deployments import build_service as app

__all__ = ["app"]
