"""Counts and times of calls through Ray, which exports them to Prometheus under `ray_`."""

from ray.util.metrics import Counter, Histogram

_MS = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0]


class RayRecorder:
    """See `service.operations.Recorder`; must be made in a process of Ray's."""

    def __init__(self) -> None:
        """Announce the metrics."""
        self._calls = Counter(
            "collegium_calls", "Calls by operation, door, outcome.", ("operation", "door", "code")
        )
        self._times = Histogram(
            "collegium_call_ms", "Milliseconds by operation and door.", _MS, ("operation", "door")
        )

    def called(self, operation: str, door: str, code: str, seconds: float) -> None:
        """Note one call; `code` is `ok`, that of the error, or `cancelled`."""
        tags = {"operation": operation, "door": door}
        self._calls.inc(1, {**tags, "code": code})
        self._times.observe(1000 * seconds, tags)
