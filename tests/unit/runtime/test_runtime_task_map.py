"""The resumable map: each unit once, whatever fails, stops or is killed."""

import asyncio
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import counted_work
import pytest
from counted_work import CONCURRENCY, UNITS, NoConfig, Number, Square, square_map

from collegium.core import BudgetExceededError, InvalidInputError
from collegium.store import RunDirectory


class Told:
    """Remembers what a map told it."""

    def __init__(self):
        self.expected, self.results = [], []

    def expect(self, total, done, /):
        self.expected.append((total, done))

    def advance(self, result, /):
        self.results.append(result)


@pytest.fixture
def opened(tmp_path):
    """Gives the run directory, as a start of its own each time."""
    return lambda: RunDirectory(str(tmp_path / "run")).open(NoConfig())


def numbers(count):
    return [Number(value) for value in range(count)]


async def square(unit):
    await asyncio.sleep(0)
    return Square(unit, unit.value**2)


def run_all(squares, units, work=square):
    async def run():
        await squares.run(squares.remaining(units), work)

    asyncio.run(run())


def test_each_unit_has_its_row(opened):
    told = Told()
    run = opened()
    run_all(square_map(run, told), numbers(10))
    rows = {row["key"]: row["square"] for row in run.rows("squares")}
    assert rows == {f"unit-{n}": n**2 for n in range(10)}
    assert told.expected == [(10, 0)]
    assert sorted(result.square for result in told.results) == sorted(rows.values())


def test_what_is_done_is_not_done_again(opened):
    run_all(square_map(opened()), numbers(6))
    done = []

    async def work(unit):
        done.append(unit.value)
        return await square(unit)

    told = Told()
    run_all(square_map(opened(), told), numbers(10), work)
    assert sorted(done) == [6, 7, 8, 9]
    assert told.expected == [(10, 6)]


def test_equal_units_are_one(opened):
    run = opened()
    told = Told()
    run_all(square_map(run, told), numbers(3) * 2)
    assert told.expected == [(3, 0)]
    assert len(told.results) == len(list(run.rows("squares"))) == 3


def failing(times):
    """Return work that fails a unit's first tries."""
    tries = Counter()

    async def work(unit):
        tries[unit] += 1
        return Square(unit, -1) if tries[unit] <= times else await square(unit)

    return work


def test_failures_are_tried_again_and_kept_apart(opened):
    run = opened()
    run_all(square_map(run, attempts=3), numbers(2), failing(2))
    assert [row["square"] for row in run.rows("squares")] == [0, 1]
    failed = {row["key"] for row in run.rows("failed_squares")}
    assert failed == {"unit-0/1.1", "unit-0/1.2", "unit-1/1.1", "unit-1/1.2"}


def test_the_last_failure_is_the_result(opened):
    run = opened()
    run_all(square_map(run, attempts=2), numbers(1), failing(2))
    assert [row["square"] for row in run.rows("squares")] == [-1]
    assert [row["key"] for row in run.rows("failed_squares")] == ["unit-0/1.1"]


def test_failures_of_each_start_have_keys_of_their_own(opened):
    run_all(square_map(opened(), attempts=2), numbers(1), failing(1))
    run = opened()
    run_all(square_map(run, attempts=2), [Number(1)], failing(1))
    assert {row["key"] for row in run.rows("failed_squares")} == {"unit-0/1.1", "unit-1/2.1"}


def test_no_more_than_the_slots_are_in_flight_over_all_calls(opened):
    squares = square_map(opened(), concurrency=3)
    flying, most = 0, 0

    async def work(unit):
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.001)
        flying -= 1
        return await square(unit)

    async def both():
        units = squares.remaining(numbers(20))
        await asyncio.gather(squares.run(units[:10], work), squares.run(units[10:], work))

    asyncio.run(both())
    assert most == 3


def test_an_error_ends_the_map_and_what_was_stored_stays(opened):
    run = opened()
    cancelled = []

    async def work(unit):
        if unit.value == 5:
            raise BudgetExceededError("spent")
        try:
            await asyncio.sleep(60 if unit.value > 5 else 0)
        except asyncio.CancelledError:
            cancelled.append(unit.value)
            raise
        return Square(unit, unit.value**2)

    with pytest.raises(BudgetExceededError):
        run_all(square_map(run), numbers(20), work)
    assert {row["square"] for row in run.rows("squares")} <= {0, 1, 4, 9, 16}
    assert set(cancelled) <= {6, 7, 8}
    run_all(square_map(opened()), numbers(20))
    assert len(list(run.rows("squares"))) == 20


def test_work_that_never_waits_can_be_cancelled(opened):
    done = []

    async def work(unit):
        done.append(unit.value)
        return Square(unit, 0)

    async def cancel_soon():
        squares = square_map(opened())
        task = asyncio.ensure_future(squares.run(squares.remaining(numbers(500)), work))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_soon())
    assert 0 < len(done) < 500


def test_a_result_under_another_key_is_refused(opened):
    async def work(unit):
        return Square(Number(unit.value + 1), 0)

    run = opened()
    with pytest.raises(InvalidInputError, match="unit-0 came as 'unit-1'"):
        run_all(square_map(run), numbers(1), work)
    assert list(run.rows("squares")) == []


def test_killed_again_and_again_each_unit_counts_once(tmp_path):
    run, log = tmp_path / "run", tmp_path / "log"
    command = [sys.executable, str(Path(counted_work.__file__)), str(run), str(log)]
    kills = 0
    for so_many in (5, 20, 35):
        process = subprocess.Popen(command)
        try:
            _wait_for_lines(log, so_many + kills * CONCURRENCY, process)
        finally:
            process.kill()
            process.wait(30)
        kills += 1
    subprocess.run(command, check=True, timeout=120)
    keys = {f"unit-{n}" for n in range(UNITS)}
    rows = list(RunDirectory(str(run)).rows("squares"))
    assert {row["key"] for row in rows} == keys
    assert all(row["square"] == int(row["key"][5:]) ** 2 for row in rows)
    files = (run / "rows" / "squares").glob("[!.]*.jsonl")
    assert sum(len(file.read_text().splitlines()) for file in files) == UNITS
    done = Counter(log.read_text().splitlines())
    assert set(done) == keys
    assert done.total() - UNITS <= kills * CONCURRENCY
    assert RunDirectory(str(run)).manifest().rows == {"squares": UNITS}


def _wait_for_lines(log, count, process):
    deadline = time.monotonic() + 60
    while not log.exists() or len(log.read_text().splitlines()) < count:
        assert time.monotonic() < deadline
        assert process.poll() is None, "it ended too early"
        time.sleep(0.002)
