"""Interactive environments behind one protocol."""

from collegium.environments.protocol import Environment, Turn

__all__ = ["Environment", "Turn"]
