"""Progress: what is counted and what is said."""

import io
from datetime import UTC, datetime

from rich.console import Console
from synthetic_runs import synthetic_episode

from collegium.core import FixedClock
from collegium.runtime.jobs.progress import ConsoleProgress, Tally


def test_expected_time_goes_by_what_this_attempt_played_since_its_first_episode():
    clock = FixedClock(datetime(2030, 1, 1, tzinfo=UTC))
    tally = Tally(clock)
    tally.expect(10, done=4)
    clock.advance(3600)  # engines start
    tally.advance(synthetic_episode(steps=30))
    assert tally.text == "1 solved"
    clock.advance(30)
    tally.advance(synthetic_episode(steps=30, success=False))
    assert (tally.stored, tally.total, tally.solved) == (6, 10, 1)
    assert tally.text == "1 solved, 1.0 steps/s, about 2.0 min left"


def test_each_stage_counts_its_own_episodes():
    clock = FixedClock(datetime(2030, 1, 1, tzinfo=UTC))
    progress = ConsoleProgress(Console(file=io.StringIO()), clock)
    progress.stage("expert")
    progress.expect(8, done=0)
    for _ in range(8):
        progress.advance(synthetic_episode())
    progress.stage("agents")
    progress.expect(64, done=3)
    progress.advance(synthetic_episode(success=False))
    tally = progress.tally
    assert (tally.stored, tally.total, tally.solved, tally.text) == (4, 64, 0, "0 solved")


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
