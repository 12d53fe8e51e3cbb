"""What a run showed, in sentences that say no more than the intervals do."""

from collegium.evaluation import formats
from collegium.evaluation.formats import written
from collegium.evaluation.records import ArmSummary, Estimate, Summary


def findings(summary: Summary) -> tuple[str, ...]:
    """Return one sentence a compared arm, then what limits the run."""
    base = summary.baseline
    sentences = [_alone(base)] if len(summary.compared) == 1 else []
    sentences += [_compared(base, arm) for arm in summary.compared[1:]]
    sentences += [f"{arm} was not played: {why}" for arm, why in summary.not_played.items()]
    failures = sum(arm.machinery_failures for arm in summary.arms)
    if failures:
        count = formats.plural(failures, "episode")
        sentences.append(f"Not scored: {count} that the machinery failed, not the agent.")
    if generated := summary.sources.get("generated"):
        count = formats.plural(generated, "episode")
        sentences.append(f"On generated games, not the benchmark's own: {count}.")
    return tuple(sentences)


def _alone(arm: ArmSummary) -> str:
    rate = written(arm.success_rate, formats.percent, " %")
    return f"{arm.arm} solved {_of(arm)}: {rate.text} ({rate.detail})."


def _compared(base: ArmSummary, arm: ArmSummary) -> str:
    if arm.change is None or arm.change.success_rate.value is None:
        return f"{arm.arm} shares no finished task-run with {base.arm}."
    difference = written(arm.change.success_rate, formats.points)
    return (
        f"{arm.arm} solved {_of(arm)}, {base.arm} {formats.whole(base.solved)}: paired difference "
        f"{difference.text} points ({difference.detail}). {_reading(arm.change.success_rate)}"
    )


def _reading(difference: Estimate) -> str:
    if difference.low is not None and difference.low > 0:
        return "The interval lies above 0."
    if difference.high is not None and difference.high < 0:
        return "The interval lies below 0: it did harm."
    return "The interval includes 0: this run cannot tell which is better."


def _of(arm: ArmSummary) -> str:
    return f"{formats.whole(arm.solved)} of {formats.plural(arm.task_runs, 'task-run')}"
