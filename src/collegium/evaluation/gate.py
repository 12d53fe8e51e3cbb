"""The gate: may a trained ranker answer consumers in place of the similarity order?

What counts are held-out episodes, played by the same agents at the same games under both orders:

* *fail* if the upper 95 % bound of the paired difference in success rate is below 0;
* *pass* if its lower bound is at least -2 points, and the ranker does not lose in both success
  and steps;
* *insufficient* evidence otherwise, which is not deployable either.

A difference measured on few episodes is honestly *insufficient*: play more.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from collegium.core import InvalidInputError
from collegium.evaluation.arms import RETRIEVAL, ArmNote, read_arms
from collegium.evaluation.outcomes import Outcome, read_outcomes
from collegium.evaluation.paired import difference
from collegium.evaluation.records import TOLERATED_LOSS, Judged
from collegium.experience import MemoryConfig
from collegium.ranking.card import GateVerdict, read_card, write_verdict
from collegium.statistics import Interval
from collegium.store import RunDirectory


def decide(success: Interval, delta_steps: float) -> Literal["pass", "fail", "insufficient"]:
    """Return the verdict on a paired difference in success rate and in mean steps.

    Args:
        success: Ranker less baseline, in [-1, 1].
        delta_steps: Ranker less baseline; negative is faster.
    """
    if success.high < 0:
        return "fail"
    gains = success.estimate >= 0 or delta_steps <= 0
    return "pass" if success.low >= TOLERATED_LOSS and gains else "insufficient"


def judge(
    outcomes: Iterable[Outcome], arm: str, *, run: str, baseline: str = RETRIEVAL, seed: int = 0
) -> GateVerdict:
    """Return what held-out episodes say of `arm` beside `baseline`.

    Args:
        outcomes: Of any arms; only task-runs that both arms played to an end are compared.
        arm: The ranker's arm.
        run: Digest of the run, or runs, that the outcomes are of.
        baseline: The arm of the similarity order.
        seed: Of the bootstrap.

    Raises:
        InvalidInputError: One of the arms is not there, or games were not held out.
    """
    played = [outcome for outcome in outcomes if outcome.arm in (arm, baseline)]
    if seen := {outcome.split for outcome in played} & set(MemoryConfig().splits):
        raise InvalidInputError(
            f"episodes of {', '.join(sorted(seen))} are no evidence: the gate needs held-out games"
        )
    found = difference(played, arm, baseline, seed=seed)
    if found is None:
        return _verdict("insufficient", Interval(0.0, -1.0, 1.0), None, 0, baseline, run)
    value, low, high = found.success.value, found.success.low, found.success.high
    success = Interval(value or 0.0, -1.0 if low is None else low, 1.0 if high is None else high)
    delta_steps = found.steps.value or 0.0
    status = decide(success, delta_steps)
    return _verdict(status, success, delta_steps, found.pairs, baseline, run)


def judge_models(runs: Sequence[RunDirectory]) -> tuple[Judged, ...]:
    """Return the verdict on each model that the runs played beside the similarity order.

    A model's first stage must be that of the similarity order: its scope, its part of the memory.
    Empty where there is no such model, or the similarity order was not played.

    Raises:
        InvalidInputError: The games were not held out.
    """
    models = _comparable({note.key: note for run in runs for note in read_arms(run)})
    if not models:
        return ()
    outcomes = read_outcomes(runs)
    played = {outcome.arm for outcome in outcomes}
    digest = "+".join(run.read_text("digest.txt").strip() for run in runs)
    return tuple(
        Judged(
            name=note.mode,
            arm=note.key,
            model_id=note.model_id,
            folder=note.folder,
            verdict=judge(outcomes, note.key, run=digest),
        )
        for note in models
        if note.model_id and note.folder and {RETRIEVAL, note.key} <= played
    )


def write_verdicts(judged: Iterable[Judged], models: Path | None = None) -> None:
    """Put the verdicts into the models' cards.

    Args:
        judged: What the gate said.
        models: Folder that holds one folder a model; where each was taken from when None.

    Raises:
        NotFoundError: A model is not there.
        InvalidInputError: It is not the one that was played; nothing is written then.
    """
    placed = [(one, models / one.name if models else Path(one.folder)) for one in judged]
    for one, folder in placed:
        found = read_card(folder).model_id
        if found != one.model_id:
            raise InvalidInputError(
                f"{folder} is model {found}, but the episodes were played with {one.model_id}: "
                "evaluate this model before it is judged"
            )
    for one, folder in placed:
        write_verdict(folder, one.verdict)


def _comparable(notes: Mapping[str, ArmNote]) -> list[ArmNote]:
    """Return the arms of models that had the same first stage as the similarity order."""
    base = notes.get(RETRIEVAL)
    return [
        note
        for note in notes.values()
        if base and note.model_id
        if (note.scope, note.fraction) == (base.scope, base.fraction)
    ]


def _verdict(
    status: Literal["pass", "fail", "insufficient"],
    success: Interval,
    delta_steps: float | None,
    pairs: int,
    baseline: str,
    run: str,
) -> GateVerdict:
    return GateVerdict(
        status=status,
        delta_success=success.estimate,
        low=success.low,
        high=success.high,
        delta_steps=delta_steps,
        pairs=pairs,
        baseline=baseline,
        run=run,
    )
