"""The tables of a study, as data: terminal, Markdown and HTML draw the same cells."""

from collections.abc import Callable

from collegium.evaluation import formats
from collegium.evaluation.analyses.advantage import Advantage
from collegium.evaluation.analyses.producers import ProducerUse
from collegium.evaluation.analyses.study import Study
from collegium.evaluation.formats import Written, written
from collegium.evaluation.paired import Difference
from collegium.evaluation.records import Estimate, Summary
from collegium.evaluation.tables import Column, Table, consumer_table, gate_table, result_table

_NONE = Written(formats.UNDEFINED)


def study_tables(study: Study) -> tuple[Table, ...]:
    """Return every table that the study has rows for, what was found first."""
    candidates = [
        findings_table(study),
        result_table(study.main)._replace(title="Main table"),
        welfare_table(study.main),
        gate_table(study.judged),
        modes_table(study),
        consumer_table(study.main),
        advantage_table(study),
        use_table(study),
        producers_table(study),
        memory_table(study),
        importance_table(study),
    ]
    if study.scopes:
        candidates.insert(8, result_table(study.scopes)._replace(title="Retrieval scopes"))
    return tuple(table for table in candidates if table.rows)


def findings_table(study: Study) -> Table:
    """Return one row a finding of the paper: what it was there, what it is here."""
    columns = tuple(
        Column(title, numeric=False) for title in ("finding", "paper", "here", "verdict", "where")
    )
    rows = tuple(
        tuple(map(Written, (each.claim, each.paper, each.here, each.verdict, each.section)))
        for each in study.findings
    )
    note = (
        "confirmed: the 95 % interval lies on the paper's side of 0. not confirmed: it does not, "
        "whether the opposite was seen or nothing could be told. not testable: what it needs is "
        "not there."
    )
    return Table("Findings of the paper", columns, rows, note)


def welfare_table(summary: Summary) -> Table:
    """Return one row an arm: what it gives the population, every consumer weighing the same."""
    columns = (
        Column("arm", numeric=False),
        Column("welfare", "mean over consumers of their success rates"),
        Column("worst off", "lowest success rate of a consumer"),
        Column("consumers better", "solve more than under the first arm"),
        Column("consumers worse", "solve less than under the first arm"),
    )
    if not summary.by_consumer:
        return Table("Welfare of the population", columns, ())
    rows = []
    for place, arm in enumerate(summary.compared):
        rates = [group.arms[place].success_rate.value or 0.0 for group in summary.by_consumer]
        base = [group.arms[0].success_rate.value or 0.0 for group in summary.by_consumer]
        worst = min(range(len(rates)), key=rates.__getitem__)
        rows.append(
            (
                Written(arm.arm),
                _percent(sum(rates) / len(rates)),
                _percent(rates[worst])._replace(detail=summary.by_consumer[worst].group),
                _count(sum(r > b for r, b in zip(rates, base, strict=True))),
                _count(sum(r < b for r, b in zip(rates, base, strict=True))),
            )
        )
    return Table("Welfare of the population", columns, tuple(rows))


def modes_table(study: Study) -> Table:
    """Return one row a guided arm beside no guidance, and beside the most similar chunk."""
    columns = (
        Column("mode", numeric=False),
        Column("Δ success", "paired, points, to no retrieval"),
        Column("Δ steps", "paired mean difference to no retrieval; negative is faster"),
        Column("pairs", "with no retrieval"),
        Column("Δ success, similarity", "paired, points, to retrieval by similarity"),
        Column("Δ steps, similarity", "to retrieval by similarity"),
        Column("won · lost", "task-runs that only this mode, only similarity solved"),
        Column("silent", "retrievals that brought nothing"),
    )
    rows = tuple(
        (
            Written(row.arm),
            _of(row.beside_none, lambda d: d.success, formats.points),
            _of(row.beside_none, lambda d: d.steps, formats.decimal),
            _count(row.beside_none.pairs) if row.beside_none else _NONE,
            _of(row.beside_similarity, lambda d: d.success, formats.points),
            _of(row.beside_similarity, lambda d: d.steps, formats.decimal),
            _record(row.beside_similarity),
            _percent(row.silent),
        )
        for row in study.modes
    )
    return Table("Modes, and the oracle bound", columns, rows)


def advantage_table(study: Study) -> Table:
    """Return one row a guided arm and threshold: gains of producer-consumer pairs."""
    columns = (
        Column("arm", numeric=False),
        Column("episodes", "that a pair needs at least"),
        Column("pairs", "of a producer and a consumer"),
        Column("mean gain", "points of success, over pairs"),
        Column("gains", "share of the pairs with a gain above 0"),
        Column("from stronger", "mean gain where the producer is the more capable one"),
        Column("from weaker", "mean gain where it is the less capable one"),
        Column("r", "correlation of gain and capability gap; p takes pairs as independent"),
    )
    rows = tuple(_advantage_row(found) for found in study.advantages)
    note = (
        "Gain: success in the episodes in which guidance of the producer was shown, less that of "
        "the same task-runs without retrieval. Capability is measured success on train games set "
        "aside, or the index of the population's table; pairs without stay out of the last three."
    )
    return Table("Retrieval advantage and capability gap", columns, rows, note)


def use_table(study: Study) -> Table:
    """Return one row an arm: how many producers it drew on, beside the index."""
    columns = (
        Column("arm", numeric=False),
        Column("producers", "retrieved at least once, of those in the index"),
        Column("effective, index", "exp(Shannon entropy) of the shares"),
        Column("effective, retrieved"),
        Column("Simpson, index", "inverse Simpson, a stricter count"),
        Column("Simpson, retrieved"),
        Column("late, index", "share of producers that are not of the pre-population"),
        Column("late, retrieved"),
        Column("times", "retrieved share / index share of these producers"),
    )
    return Table("Producers in effect", columns, tuple(map(_use_row, study.producers)))


def producers_table(study: Study) -> Table:
    """Return one row a producer: its share of the index, and of what each arm retrieved."""
    uses = study.producers
    columns = [Column("producer", numeric=False), Column("index", "share of the chunks")]
    columns += [Column(use.arm, "share of what was retrieved") for use in uses]
    rows = []
    for share in uses[0].shares if uses else ():
        cells = [_percent(share.corpus or 0.0)]
        for use in uses:
            retrieved = {each.producer: each.retrieved for each in use.shares}
            cells.append(_percent(retrieved.get(share.producer, 0.0)))
        rows.append((Written(share.producer), *cells))
    return Table("Producers' shares", tuple(columns), tuple(rows))


def memory_table(study: Study) -> Table:
    """Return one row a fraction of the memory."""
    columns = (
        Column("memory", "share of the trajectories"),
        Column("task-runs"),
        Column("success rate"),
        Column("steps", "mean over all episodes"),
        Column("by draw", "success rate under each draw of the subset", numeric=False),
    )
    points = study.memory.points if study.memory else ()
    rows = tuple(
        (
            _percent(point.fraction),
            _count(point.task_runs),
            written(point.success, formats.percent, " %"),
            written(point.steps, formats.decimal),
            Written(" · ".join(f"{formats.percent(rate)} %" for rate in point.by_draw)),
        )
        for point in points
    )
    return Table("Memory size", columns, rows)


def importance_table(study: Study) -> Table:
    """Return one row a ranker and category of features."""
    columns = (
        Column("ranker", numeric=False),
        Column("category", numeric=False),
        Column("features"),
        Column("SHAP", "share of all mean absolute SHAP values"),
        Column("NDCG lost", "when each feature is shuffled, summed"),
        Column("largest", "by SHAP", numeric=False),
    )
    rows = tuple(
        (
            Written(row.ranker),
            Written(row.category),
            _count(row.features),
            _percent(row.shap),
            Written(f"{row.permutation:.3f}", value=row.permutation),
            Written(row.first),
        )
        for row in study.importances
    )
    return Table("What rankers go by", columns, rows)


def _advantage_row(found: Advantage) -> tuple[Written, ...]:
    chance = formats.p_value(found.p_value) if found.p_value is not None else ""
    r = written(found.correlation, formats.decimal)
    return (
        Written(found.arm),
        _count(found.minimum),
        _count(len(found.pairs)),
        written(found.mean, formats.points),
        _percent(found.positive),
        written(found.from_stronger, formats.points),
        written(found.from_weaker, formats.points),
        r._replace(detail=", ".join(filter(None, (r.detail, chance)))),
    )


def _use_row(use: ProducerUse) -> tuple[Written, ...]:
    effective, simpson = (
        (use.corpus.effective, use.shown.effective),
        (
            use.corpus.inverse_simpson,
            use.shown.inverse_simpson,
        ),
    )
    return (
        Written(use.arm),
        Written(f"{use.shown.producers} of {use.corpus.producers}", value=use.shown.producers),
        *(Written(formats.decimal(value), value=value) for value in (*effective, *simpson)),
        _percent(use.late_corpus),
        written(use.late_shown, formats.percent, " %"),
        written(use.late_ratio, formats.decimal),
    )


def _of(
    found: Difference | None, of: Callable[[Difference], Estimate], form: Callable[[float], str]
) -> Written:
    return written(of(found), form) if found else _NONE


def _record(found: Difference | None) -> Written:
    return Written(f"{found.wins} · {found.losses}", value=found.wins) if found else _NONE


def _percent(share: float) -> Written:
    return Written(f"{formats.percent(share)} %", value=share)


def _count(value: int) -> Written:
    return Written(formats.whole(value), value=value)
