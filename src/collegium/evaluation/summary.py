"""From episodes to the summary that every table, plot and page is drawn from."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

from collegium.core import Episode, Usage
from collegium.evaluation.arms import NO_RETRIEVAL, RETRIEVAL
from collegium.evaluation.growth import GrowthRow, producer_shares
from collegium.evaluation.metrics import LEVEL, RESAMPLES, PanelMetrics
from collegium.evaluation.outcomes import LostAttempt, Outcome, outcome_of
from collegium.evaluation.panel import Panel, compare
from collegium.evaluation.records import ArmSummary, GroupSummary, Reference, Summary
from collegium.statistics import effective_number


def summarise(
    episodes: Iterable[Episode],
    *,
    lost: Iterable[LostAttempt] = (),
    growth: Sequence[GrowthRow] = (),
    references: Sequence[Reference] = (),
    baseline: str = NO_RETRIEVAL,
    order: Sequence[str] = (NO_RETRIEVAL, RETRIEVAL),
    seed: int = 0,
) -> Summary:
    """Evaluate `episodes`; the order they come in does not matter.

    Args:
        episodes: of all arms; they are read once and not kept.
        lost: attempts that are no episode, but cost something.
        growth: the corpus after each partition, if the run has one.
        references: rows measured elsewhere, shown beside.
        baseline: the arm that others are compared with; the first one where it is missing.
        order: in which arms stand; those that it leaves out come after, by name.
        seed: of the bootstrap.

    Raises:
        InvalidInputError: no episodes, or two agent outcomes of one arm and task-run.
    """
    outcomes = [outcome_of(episode) for episode in episodes]
    comparison = compare(outcomes, baseline, order)
    panel = comparison.panel
    everything = _Counted(outcomes, list(lost))
    arms = _arm_summaries(panel, everything, seed, compared=True)
    for alone in comparison.references:
        arms += _arm_summaries(alone, everything, seed, compared=False)
    rows = tuple(sorted(growth, key=lambda row: row.partition))
    retrieved = Counter(name for outcome in outcomes for name in outcome.producers)
    corpus = rows[-1].chunks_by_producer if rows else None
    return Summary(
        arms=tuple(arms),
        references=tuple(references),
        by_task_type=_group_summaries(panel, "task_type", lambda o: o.task_type, seed),
        by_consumer=_group_summaries(panel, "consumer", lambda o: o.task_run.agent, seed),
        growth=rows,
        producers=producer_shares(corpus, retrieved),
        incomplete_task_runs=comparison.incomplete,
        sources=dict(sorted(Counter(outcome.source for outcome in outcomes).items())),
        environments=tuple(sorted({o.task_run.task.partition(":")[0] for o in outcomes})),
        level=LEVEL,
        resamples=RESAMPLES,
        seed=seed,
    )


class _Counted(NamedTuple):
    outcomes: list[Outcome]
    lost: list[LostAttempt]

    def of(self, arm: str) -> "_Counted":
        return _Counted(
            [outcome for outcome in self.outcomes if outcome.arm == arm],
            [attempt for attempt in self.lost if attempt.arm == arm],
        )


def _arm_summaries(
    panel: Panel, everything: _Counted, seed: int, *, compared: bool
) -> list[ArmSummary]:
    metrics = PanelMetrics(panel, seed=seed, stream="all" if compared else panel.arms[0])
    preferences = metrics.preferences()
    summaries = []
    for index, arm in enumerate(panel.arms):
        every, lost = everything.of(arm)
        producers = Counter(name for outcome in every for name in outcome.producers)
        lost_usage = _total(attempt.usage for attempt in lost)
        usage = _total(outcome.usage for outcome in every) + lost_usage
        summaries.append(
            ArmSummary(
                **dict(metrics.arm(index)),
                role=("baseline" if index == 0 else "compared") if compared else "reference",
                agents=len({outcome.task_run.agent for outcome in every}),
                rpp=preferences[index] if preferences else None,
                cost_per_solved=metrics.cost_per_solved(index),
                prefix_hit_rate=_share(usage.cached_tokens, usage.prompt_tokens),
                retrieval_rate=_share(sum(o.retrievals for o in every), sum(o.steps for o in every))
                or 0.0,
                effective_producers=effective_number(list(producers.values())),
                usage=usage,
                lost=lost_usage,
                episodes=len(every),
                machinery_failures=sum(o.stop_reason.is_machinery for o in every),
                failed_attempts=sum(attempt.stop_reason is not None for attempt in lost),
                stop_reasons=dict(sorted(Counter(o.stop_reason for o in every).items())),
                solved_by_step=metrics.solved_by_step(index),
            )
        )
    return summaries


def _group_summaries(
    panel: Panel, stream: str, of: Callable[[Outcome], str], seed: int
) -> tuple[GroupSummary, ...]:
    summaries = []
    for name, part in panel.groups(of).items():
        metrics = PanelMetrics(part, seed=seed, stream=f"{stream}:{name}")
        arms = tuple(metrics.arm(index) for index in range(len(part.arms)))
        summaries.append(GroupSummary(group=name, arms=arms))
    return tuple(summaries)


def _total(usages: Iterable[Usage]) -> Usage:
    return reduce(add, usages, Usage())


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
