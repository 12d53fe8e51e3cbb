"""Progress: what is counted and what is said."""

import io
from datetime import UTC, datetime

from rich.console import Console
from synthetic_runs import synthetic_episode

from collegium.core import FixedClock
from collegium.runtime.jobs.progress import ConsoleProgress, Tally


def test_expected_time_counts_only_what_this_attempt_played():
    clock = FixedClock(datetime(2030, 1, 1, tzinfo=UTC))
    tally = Tally(clock)
    tally.expect(10, done=4)
    clock.advance(60)
    tally.advance(synthetic_episode(steps=30))
    tally.advance(synthetic_episode(steps=30, success=False))
    assert (tally.stored, tally.total, tally.solved) == (6, 10, 1)
    assert tally.text == "1 solved, 1.0 steps/s, about 2.0 min left"


def test_a_log_gets_a_line_now_and_then():
    clock = FixedClock(datetime(2030, 1, 1, tzinfo=UTC))
    out = io.StringIO()
    progress = ConsoleProgress(Console(file=out, width=200), clock)
    with progress.shown():
        progress.stage("agents")
        progress.expect(100, done=0)
        for _ in range(60):
            clock.advance(1)
            progress.advance(synthetic_episode(steps=2))
    lines = out.getvalue().splitlines()
    assert lines[0] == "agents"
    assert lines[-1].startswith("agents: 60 of 100, 60 solved, 2.0 steps/s, about 0.7 min left")
    assert len(lines) == 4
