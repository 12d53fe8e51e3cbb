"""The service with retrieval: guidance for live states, from what agents contributed.

Usage: serve run serve.retrieval:app [key=value …], or in `serve deploy serve/config.yaml`.
"""

from collegium.runtime.serve.deployments import build_retrieval as app

__all__ = ["app"]
