"""How long a run was at work, told from its own files."""

from datetime import UTC, datetime

import pytest

from collegium.config import Config
from collegium.core import FixedClock
from collegium.store import RunDirectory


class Empty(Config):
    """A configuration without fields."""


def test_waits_between_attempts_do_not_count(tmp_path):
    clock = FixedClock(datetime(2030, 1, 2, tzinfo=UTC))
    run = RunDirectory(str(tmp_path / "run"), clock)
    for attempt in range(2):
        run.open(Empty())
        for row in range(3):
            clock.advance(10)
            run.append("episodes", [{"key": f"{attempt}/{row}"}])
        clock.advance(3600)
    assert run.active_seconds() == pytest.approx(60)
    assert [start.isoformat() for start in run.starts()] == [
        "2030-01-02T00:00:00+00:00",
        "2030-01-02T01:00:30+00:00",
    ]


def test_a_run_without_rows_was_never_at_work(tmp_path):
    run = RunDirectory(str(tmp_path / "run")).open(Empty())
    assert run.active_seconds() == 0
    assert len(run.starts()) == 1
