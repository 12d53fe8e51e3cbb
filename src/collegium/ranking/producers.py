"""The producers' twelve benchmark scores, from the population, a TSV table, or measurement.

A local agent has no public benchmark scores. Its success on train games set aside is measured
instead, over all games and by task type, and fills these columns, in percent as the others are::

    all                              source_aai (it is also what capability gaps are taken from)
    pick_and_place_simple            source_gdpval_aa
    pick_two_obj_and_place           source_terminal_bench_hard
    look_at_obj_in_light             source_tau_squared_bench_telecom
    pick_clean_then_place_in_recep   source_aa_lcr
    pick_heat_then_place_in_recep    source_aa_omniscience_accuracy
    pick_cool_then_place_in_recep    source_hle

What nobody measured of a producer is the mean of its column; 0 where the column is empty.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from collegium.core import Agent, CorruptDataError, NotFoundError, Record
from collegium.ranking.schema import BENCHMARKS

_MEASURED = {
    "all": "source_aai",
    "pick_and_place_simple": "source_gdpval_aa",
    "pick_two_obj_and_place": "source_terminal_bench_hard",
    "look_at_obj_in_light": "source_tau_squared_bench_telecom",
    "pick_clean_then_place_in_recep": "source_aa_lcr",
    "pick_heat_then_place_in_recep": "source_aa_omniscience_accuracy",
    "pick_cool_then_place_in_recep": "source_hle",
}


class BenchmarkTable(Record):
    """Twelve scores a producer, in the order of `BENCHMARKS`, none missing."""

    scores: dict[str, tuple[float, ...]]
    means: tuple[float, ...]
    """Of the columns: the scores of a producer that is not in the table."""

    def of(self, producer: str) -> tuple[float, ...]:
        """Return the scores of `producer`."""
        return self.scores.get(producer, self.means)


def benchmark_table(agents: Sequence[Agent], file: Path | None = None) -> BenchmarkTable:
    """Return the scores of all agents, and of the models in a TSV file.

    Args:
        agents: Their own scores go before those of the file.
        file: The first column names the model, the twelve others follow in the order of
            `BENCHMARKS`.

    Raises:
        NotFoundError: The file is not there.
        CorruptDataError: It has another form; the message names the line.
    """
    known = _read(file) if file else {}
    known |= {agent.id: columns for agent in agents if (columns := _columns(agent.benchmarks))}
    values = [[row[name] for row in known.values() if name in row] for name in BENCHMARKS]
    means = [fmean(column) if column else 0.0 for column in values]
    scores = {
        producer: tuple(map(row.get, BENCHMARKS, means)) for producer, row in sorted(known.items())
    }
    return BenchmarkTable.model_validate({"scores": scores, "means": means})


def _columns(benchmarks: Mapping[str, float]) -> dict[str, float]:
    measured = {
        _MEASURED[name]: 100.0 * score for name, score in benchmarks.items() if name in _MEASURED
    }
    return measured | {name: score for name, score in benchmarks.items() if name in BENCHMARKS}


def _read(file: Path) -> dict[str, dict[str, float]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise NotFoundError(f"no table of benchmark scores at {file}") from None
    table = {}
    for number, cells in enumerate(csv.reader(lines[1:], delimiter="\t"), start=2):
        try:
            scores = [float(cell) for cell in cells[1:]]
            table[cells[0]] = dict(zip(BENCHMARKS, scores, strict=True))
        except (ValueError, IndexError) as error:
            raise CorruptDataError(
                f"{file}, line {number}: expected a model and {len(BENCHMARKS)} numbers, "
                f"separated by tabs ({error})"
            ) from None
    return table
