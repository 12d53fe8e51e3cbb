"""Tables, their renderings and the sentences: same data everywhere, and nothing overstated."""

import io

import pytest
from rich.console import Console
from synthetic_runs import synthetic_episode, synthetic_episodes

from collegium.evaluation import GrowthRow, formats, summarise
from collegium.evaluation.findings import findings
from collegium.evaluation.published import published_references
from collegium.evaluation.records import Estimate
from collegium.evaluation.rendering import to_markdown, to_rich
from collegium.evaluation.tables import Column, Table, result_table, tables


@pytest.fixture(scope="module")
def summary():
    growth = [
        GrowthRow(partition=p, trajectories=p + 1, chunks_by_producer={"expert": 10 + p})
        for p in range(2)
    ]
    references = published_references(["household"])
    return summarise(synthetic_episodes(), growth=growth, references=references)


def test_every_table_is_rectangular_and_titled(summary):
    drawn = tables(summary)
    assert [table.title for table in drawn] == [
        "Results",
        "Cost",
        "How episodes ended",
        "By task type",
        "By consumer",
        "Corpus growth",
        "Producers",
    ]
    for table in drawn:
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_result_rows_label_what_was_not_compared(summary):
    labels = [(row[0].text, row[0].detail) for row in result_table(summary).rows]
    assert labels == [
        ("no_retrieval", ""),
        ("retrieval", ""),
        ("expert", "reference"),
        ("no_retrieval", "paper"),
        ("retrieval", "paper"),
        ("SVMRank", "paper"),
    ]
    assert "Left out: 1 task-run " in result_table(summary).note


def test_markdown_and_terminal_show_the_same_numbers(summary):
    table = result_table(summary)
    markdown = to_markdown(table)
    stream = io.StringIO()
    Console(file=stream, width=200).print(to_rich(table))
    for row in table.rows:
        for cell in row:
            assert cell.text in markdown
            assert cell.text in stream.getvalue()
            assert cell.detail in stream.getvalue()


def test_text_of_agents_is_no_markup(summary):
    odd = "[red]a|b[/red] <i>"
    table = Table("t", (Column("agent"),), ((formats.Written(odd),),))
    stream = io.StringIO()
    Console(file=stream, width=80).print(to_rich(table))
    assert odd in stream.getvalue()
    assert "a\\|b" in to_markdown(table)
    assert "<i>" not in to_markdown(table)


def test_group_tables_have_no_column_for_a_missing_arm():
    table = tables(summarise([synthetic_episode()]))[-1]
    assert [column.title for column in table.columns] == [
        "consumer",
        "task-runs",
        "no_retrieval",
        "steps, no_retrieval",
    ]


def test_findings_say_no_more_than_the_interval(summary):
    text = " ".join(findings(summary))
    change = summary.compared[1].change.success_rate
    assert change.low < 0 < change.high
    assert "cannot tell which is better" in text
    assert "Not scored: 1 episode that the machinery failed" in text
    assert "On generated games" in text


@pytest.mark.parametrize(
    ("base", "treated", "words"),
    [(False, True, "lies above 0"), (True, False, "below 0: it did harm")],
)
def test_findings_name_the_direction(base, treated, words):
    episodes = [
        synthetic_episode(task=f"t{i}", arm=arm, success=success)
        for i in range(20)
        for arm, success in (("no_retrieval", base), ("retrieval", treated))
    ]
    assert any(words in sentence for sentence in findings(summarise(episodes)))


def test_findings_of_a_single_arm():
    (sentence,) = findings(summarise([synthetic_episode(), synthetic_episode(task="t2")]))
    assert sentence.startswith("no_retrieval solved 2 of 2 task-runs: 100.0 % (")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (formats.percent(0.4708), "47.1"),
        (formats.points(0.08), "+8.0"),
        (formats.points(-0.0001), "0.0"),
        (formats.change(-0.206), "−21"),
        (formats.preference(-869 / 5480), "−0.159"),
        (formats.whole(12345.6), "12,346"),
        (formats.money(0), "$0.00"),
        (formats.money(0.00412), "$0.0041"),
        (formats.p_value(0.0001), "p < 0.001"),
        (formats.plural(1, "episode"), "1 episode"),
        (formats.duration(8.44), "8.4 s"),
        (formats.duration(252), "4 min 12 s"),
        (formats.duration(11105), "3 h 05 min"),
    ],
)
def test_formats(text, expected):
    assert text == expected


@pytest.mark.parametrize(
    ("estimate", "expected"),
    [
        ((0.5, 0.25, 0.75), ("50.0 %", "25.0 to 75.0")),
        ((0.5, 0.25, None), ("50.0 %", "25.0 to ∞")),
        ((0.5, None, None), ("50.0 %", "")),
        ((None, None, None), ("–", "")),
    ],
)
def test_estimates_are_written_with_their_interval(estimate, expected):
    value, low, high = estimate
    written = formats.written(Estimate(value=value, low=low, high=high), formats.percent, " %")
    assert (written.text, written.detail) == expected
