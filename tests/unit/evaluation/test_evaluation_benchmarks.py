"""Benchmark results: judged against targets, one JSON shape, a table for people."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from collegium.core import NotFoundError
from collegium.environments.household.oracle import oracle_is_installed
from collegium.evaluation.benchmarks import BenchResult, Target, household, show

TARGETS = {"steps_per_s": Target(min=10), "load_ms": Target(max=5)}


@pytest.mark.parametrize(
    ("figures", "meets"),
    [
        ({"steps_per_s": 10, "load_ms": 5, "other": 0}, True),
        ({"steps_per_s": 9.9, "load_ms": 5}, False),
        ({"steps_per_s": 11, "load_ms": 5.1}, False),
        ({"steps_per_s": None, "load_ms": 1}, False),
        ({"load_ms": 1}, False),
    ],
)
def test_every_target_needs_a_figure_in_its_range(
    figures: dict[str, int | float | None], meets: bool
) -> None:
    assert BenchResult.judge("some", figures, TARGETS).meets is meets


def test_json_has_four_keys_and_keeps_what_was_not_measured() -> None:
    result = BenchResult.judge("some", {"steps_per_s": None, "load_ms": 2}, TARGETS, ("why",))
    assert json.loads(result.model_dump_json()) == {
        "bench": "some",
        "figures": {"steps_per_s": None, "load_ms": 2},
        "targets": {"steps_per_s": {"min": 10}, "load_ms": {"max": 5}},
        "meets": False,
    }


def test_table_shows_figures_targets_and_notes() -> None:
    result = BenchResult.judge("some", {"steps_per_s": 123456, "load_ms": None}, TARGETS, ("why",))
    console = Console(file=io.StringIO(), width=100)
    show(result, console)
    text = console.file.getvalue()
    for part in ("bench some: misses a target", "123,456", ">= 10", "not measured", "<= 5", "why"):
        assert part in text


def test_missing_games_say_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    with pytest.raises(NotFoundError, match="collegium data household"):
        household.run()


def test_household_is_exact_and_fast(alfworld_games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(alfworld_games))
    monkeypatch.setattr(household, "oracle_is_installed", lambda: False)
    result = household.run()
    assert result.targets.keys() <= result.figures.keys()
    assert result.figures["parity_mismatches"] == 0
    assert result.figures["parity_digests"] > 0
    assert result.figures["parity_traces"] > 0
    assert result.figures["speed_ratio"] is None
    assert not result.meets
    assert "collegium[parity]" in result.notes[0]


@pytest.mark.skipif(not oracle_is_installed(), reason="needs the extra: collegium[parity]")
@pytest.mark.filterwarnings("ignore")
def test_textworld_is_measured_beside_it(
    alfworld_games: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(alfworld_games))
    ratio = household.run().figures["speed_ratio"]
    assert ratio is not None
    assert ratio > 1000
