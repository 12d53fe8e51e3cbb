"""Use-cases behind the command line: games are unpacked, benchmarks are found, logs are JSON."""

import json
import tarfile

import pytest
import structlog

from collegium.core import NotFoundError
from collegium.environments.household.generator import write_games
from collegium.evaluation.benchmarks import BenchResult
from collegium.service.benchmarks import Benchmark, run_benchmark
from collegium.service.games import unpack_household
from collegium.service.logs import configure_logs


@pytest.fixture
def archives(tmp_path):
    write_games(tmp_path / "made", 2, seed=3, splits=("generated_test",))
    folder = tmp_path / "archives"
    folder.mkdir()
    with tarfile.open(folder / "games_generated.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "made" / "json_2.1.1", "json_2.1.1")
    return folder


def test_games_go_where_they_are_told(archives, tmp_path):
    unpacked = unpack_household(archives, tmp_path / "there")
    assert (unpacked.games, unpacked.root) == (2, str(tmp_path / "there"))
    assert (tmp_path / "there" / "json_2.1.1" / "generated_test").is_dir()


def test_games_go_to_alfworld_data_else_to_the_cache(archives, tmp_path, monkeypatch):
    monkeypatch.setenv("COLLEGIUM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    assert unpack_household(archives).root == str(tmp_path / "cache" / "alfworld")
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "named"))
    assert unpack_household(archives).root == str(tmp_path / "named")


def test_no_archives(tmp_path):
    with pytest.raises(NotFoundError, match=r"games_\*"):
        unpack_household(tmp_path, tmp_path / "there")


@pytest.mark.parametrize("benchmark", Benchmark)
def test_a_benchmark_is_a_module_with_a_run(benchmark, monkeypatch):
    result = BenchResult.judge(benchmark, {}, {})
    monkeypatch.setattr(f"collegium.evaluation.benchmarks.{benchmark}.run", lambda: result)
    assert run_benchmark(benchmark) is result


@pytest.fixture
def _logs():
    yield
    structlog.reset_defaults()


@pytest.mark.usefixtures("_logs")
@pytest.mark.parametrize(("verbosity", "lines"), [(0, 1), (1, 2), (2, 3), (9, 3)])
def test_logs_are_json_lines_on_standard_error(capsys, verbosity, lines):
    configure_logs(verbosity)
    log = structlog.get_logger("test")
    log.debug("fine")
    log.info("middling")
    log.warning("damaged", path="a[b]\n")
    captured = capsys.readouterr()
    written = [json.loads(line) for line in captured.err.splitlines()]
    assert captured.out == ""
    assert len(written) == lines
    assert written[-1]["event"] == "damaged"
    assert written[-1]["path"] == "a[b]\n"
