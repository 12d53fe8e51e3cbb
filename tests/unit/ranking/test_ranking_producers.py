"""The producers' benchmark scores: the paper's table, measured agents, strangers, bad files."""

from pathlib import Path

import pytest

from collegium.agents.populations import load_population
from collegium.core import Agent, CorruptDataError, NotFoundError
from collegium.ranking.producers import benchmark_table
from collegium.ranking.schema import BENCHMARKS

ROOT = Path(__file__).resolve().parents[3]
HEADER = "\t".join(["Model", *BENCHMARKS])


def row(name, first):
    return "\t".join([name, *[str(first + i) for i in range(12)]])


def written(path, *rows):
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def test_a_stranger_to_the_papers_population_has_the_published_means():
    table = benchmark_table(load_population(ROOT / "configs" / "populations" / "papers.yaml"))
    assert len(table.scores) == 34
    assert table.of("seq_2_seq")[0] == pytest.approx(26.3529, abs=1e-4)
    assert table.of("openai/gpt-oss-20b") == (21, 3, 5, 50, 31, 14, 5, 61, 34, 58, 0, 131)


def test_the_tsv_of_the_public_data_says_the_same_as_the_population_file(shared_data):
    agents = load_population(ROOT / "configs" / "populations" / "papers.yaml")
    table = benchmark_table([], shared_data / "matm" / "agent_benchmarks.tsv")
    assert table == benchmark_table(agents)


def test_measured_success_fills_the_columns_in_percent():
    measured = {"all": 0.5, "pick_two_obj_and_place": 0.25, "unknown": 9.0}
    table = benchmark_table([Agent(id="a", model="m", benchmarks=measured)])
    scores = dict(zip(BENCHMARKS, table.of("a"), strict=True))
    assert scores["source_aai"] == 50.0
    assert scores["source_terminal_bench_hard"] == 25.0
    assert scores["source_critpt"] == 0.0
    assert table.of("nobody") == table.of("a")  # the means of one row


def test_an_agents_own_scores_go_before_the_files(tmp_path):
    file = written(tmp_path / "t.tsv", row("a", 1), row("b", 3))
    table = benchmark_table([Agent(id="a", model="m", benchmarks={"source_aai": 9.0})], file)
    assert table.of("a")[0] == 9.0
    assert table.of("a")[1] == table.means[1] == 4.0  # the file's row is replaced whole
    assert table.of("b")[:2] == (3.0, 4.0)


@pytest.mark.parametrize("bad", ["only-a-name", row("a", 1) + "\t1", "a" + "\tx" * 12])
def test_a_line_of_another_form_is_named(tmp_path, bad):
    with pytest.raises(CorruptDataError, match="line 3"):
        benchmark_table([], written(tmp_path / "t.tsv", row("a", 1), bad))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(NotFoundError, match="nothing"):
        benchmark_table([], tmp_path / "nothing")


def test_without_any_scores_every_column_is_zero():
    assert benchmark_table([]).of("a") == (0.0,) * 12
