"""The command `collegium`: options in, calls of the service layer, tables or JSON out.

Commands import what they call only when they are called, so that `--help` stays instant.
"""

from collegium.cli.entry import main

__all__ = ["main"]
