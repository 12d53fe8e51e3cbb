"""Run directories. The ledger and its database join in part 2."""

from collegium.store.manifest import Manifest
from collegium.store.runs import RunDirectory

__all__ = ["Manifest", "RunDirectory"]
