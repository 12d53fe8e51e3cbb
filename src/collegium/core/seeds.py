"""Seeded random streams: each use names its stream, so adding one never moves another."""

import hashlib

import numpy as np


def integer_seed(seed: int, *stream: str | int) -> int:
    """Return a 64-bit seed for the named stream under the run's `seed`."""
    text = "\x1f".join([str(seed), *map(str, stream)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def generator(seed: int, *stream: str | int) -> np.random.Generator:
    """Return a generator for the named stream, e.g. `generator(7, "branching", task_id)`."""
    return np.random.default_rng(integer_seed(seed, *stream))
