"""The application that does nothing, the yardstick for what calls cost.

Usage: serve run serve.noop:app [key=value …], or as a part of `serve deploy serve/config.yaml`.
"""

from collegium.runtime.serve.deployments import build_noop as app

__all__ = ["app"]
