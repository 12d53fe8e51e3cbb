"""Numbers of the paper, set beside ours for orientation; never mixed with them.

MATM Table 1, ALFWorld: 34 consumers, official games, five offsets (1,370 task-runs), RPP among five
methods. Success counts and RPP numerators are the integers behind the printed values
(formulas §2.6). The two rerankers whose row the text does not name are left out.
"""

from collections.abc import Iterable

from collegium.evaluation.records import Reference

_TASK_RUNS = 1370
_OPPONENTS = 4
_NOTE = "34 agents, five offsets; RPP among the paper's five methods"


def published_references(environments: Iterable[str]) -> tuple[Reference, ...]:
    """Return the paper's rows for those of `environments` that it covers."""
    return _ALFWORLD if "household" in set(environments) else ()


def _row(label: str, solved: int, steps: float, votes: int) -> Reference:
    return Reference(
        label=label,
        source="paper",
        task_runs=_TASK_RUNS,
        success_rate=solved / _TASK_RUNS,
        steps=steps,
        rpp=votes / (_TASK_RUNS * _OPPONENTS),
        note=_NOTE,
    )


_ALFWORLD = (
    _row("no_retrieval", 645, 11.77, -869),
    _row("retrieval", 755, 11.18, -247),
    _row("SVMRank", 881, 10.35, 808),
)
