"""Calls a minute by key: a token bucket each, in memory.

A bucket holds one minute's calls, but at least one, and fills evenly. Where several replicas
answer, each gives out its share of a key's rate, so that together they keep to it; a key whose
calls all reach one replica gets that share only.
"""

from collections import OrderedDict
from typing import NamedTuple

from collegium.core import Clock

_MAX_BUCKETS = 10_000


class _Bucket(NamedTuple):
    calls: float
    at: float


class CallLimiter:
    """Buckets by key id; the least recently used are forgotten beyond 10,000 (they refill)."""

    def __init__(self, clock: Clock, replicas: int = 1) -> None:
        """Start with full buckets; `replicas` (>= 1) share each key's rate."""
        self._clock = clock
        self._replicas = replicas
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, key_id: str, calls_per_minute: int) -> float:
        """Take one call; return 0, or the seconds until one is free."""
        rate = calls_per_minute / self._replicas
        size = max(rate, 1.0)
        now = self._clock.monotonic()
        bucket = self._buckets.pop(key_id, _Bucket(size, now))
        calls = min(size, bucket.calls + (now - bucket.at) * rate / 60)
        granted = calls >= 1
        self._buckets[key_id] = _Bucket(calls - granted, now)
        if len(self._buckets) > _MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return 0.0 if granted else (1 - calls) * 60 / rate
