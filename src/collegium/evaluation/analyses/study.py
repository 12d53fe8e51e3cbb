"""All analyses of the paper in one record, from the run directories of several evaluations.

What was not played is None or empty here, and the findings that need it are not testable.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import yaml
from pydantic import ValidationError

from collegium.core import Agent, CorruptDataError, InvalidInputError, Record
from collegium.evaluation.analyses.advantage import Advantage, advantage
from collegium.evaluation.analyses.checking import Finding
from collegium.evaluation.analyses.findings import Material, check_findings
from collegium.evaluation.analyses.memory_sizes import MemoryCurve, memory_curve
from collegium.evaluation.analyses.producers import ProducerUse, producer_use
from collegium.evaluation.arms import EXPERT, NO_RETRIEVAL, RETRIEVAL, ArmNote, read_arms
from collegium.evaluation.outcomes import Outcome, read_outcomes
from collegium.evaluation.paired import Difference, difference
from collegium.evaluation.records import Judged, Summary
from collegium.evaluation.report.builder import read_growth, read_summary
from collegium.experience.replay import EXPLORER
from collegium.ranking.importance import Importance
from collegium.store import RunDirectory
from collegium.store.records import read_records

STUDY = "study.json"
"""File of a run directory of `analyse_evaluations`."""
IMPORTANCES = "importances"
"""Table of a run of `train_rerankers` with one `Importance` a ranker and feature."""

_FEW = 3
"""Gains are told for pairs with at least so many episodes as well."""


class StudyRuns(NamedTuple):
    """The run directories that a study reads; what is missing is left out."""

    main: Sequence[RunDirectory]
    """Of `evaluate_agents`: without retrieval, by similarity, by each ranker."""
    modes: Sequence[RunDirectory] = ()
    """Of `evaluate_agents`: other modes on the same games and agents."""
    scopes: Sequence[RunDirectory] = ()
    """Of `evaluate_agents`: similarity under several scopes."""
    memory_sizes: Sequence[RunDirectory] = ()
    """Of `evaluate_agents`: similarity over several fractions of the memory."""
    rankers: RunDirectory | None = None
    """Of `train_rerankers`."""


class ModeRow(Record):
    """What a mode did beside no guidance, and beside the most similar chunk."""

    arm: str
    silent: float
    """Share of its retrievals that brought nothing, by a ranker's choice or for lack of chunks."""
    beside_none: Difference | None
    beside_similarity: Difference | None


class CategoryShare(Record):
    """How much one ranker goes by the features of one category."""

    ranker: str
    category: str
    features: int
    permutation: float
    """NDCG lost by shuffling each of them, summed."""
    shap: float
    """Share of all mean absolute SHAP values."""
    first: str
    """The feature of the category with the largest SHAP value."""


class Study(Record):
    """What all runs say together."""

    schema_version: Literal[1] = 1
    main: Summary
    judged: tuple[Judged, ...]
    """Of the main table, and of the modes beside it."""
    advantages: tuple[Advantage, ...]
    """By guided arm and least number of episodes."""
    producers: tuple[ProducerUse, ...]
    modes: tuple[ModeRow, ...]
    scopes: Summary | None
    memory: MemoryCurve | None
    importances: tuple[CategoryShare, ...]
    findings: tuple[Finding, ...]


def study(runs: StudyRuns, *, seed: int = 0) -> Study:
    """Return all analyses of `runs`.

    Raises:
        InvalidInputError: There is no episode, or arms of one name differ between runs.
        CorruptDataError: A row is not of this version.
    """
    played = [*runs.main, *runs.modes, *runs.scopes, *runs.memory_sizes]
    notes = _common_notes(played)
    outcomes = read_outcomes(played)
    main, growth = read_summary(*runs.main), read_growth(played)
    guided = [arm.arm for arm in main.compared if arm.arm != NO_RETRIEVAL]
    capabilities = _capabilities(runs.main, outcomes)
    advantages = [
        advantage(outcomes, arm, capabilities, minimum=minimum, seed=seed)
        for arm in guided
        for minimum in (1, _FEW)
    ]
    users = [arm for arm in notes if notes[arm].fraction == 1]
    uses = [producer_use(outcomes, arm, growth, seed=seed) for arm in users]
    importances = _importances(runs.rankers)
    scopes = read_summary(*runs.scopes) if runs.scopes else None
    memory = _memory(runs.memory_sizes, notes, outcomes, seed)
    material = Material(
        outcomes=outcomes,
        advantages={found.arm: found for found in advantages if found and found.minimum == 1},
        uses={use.arm: use for use in uses if use},
        memory=memory,
        importances=importances,
        refused=main.not_played,
        seed=seed,
    )
    return Study(
        main=main,
        judged=read_summary(*runs.main, *runs.modes).gate,
        advantages=tuple(found for found in advantages if found),
        producers=tuple(use for use in uses if use),
        modes=tuple(_mode_rows(outcomes, [*runs.main, *runs.modes], seed)),
        scopes=scopes,
        memory=memory,
        importances=tuple(_category_shares(importances)),
        findings=check_findings(material),
    )


def read_study(run: RunDirectory) -> Study:
    """Return what `analyse_evaluations` left in `run`.

    Raises:
        NotFoundError: It left nothing there.
        CorruptDataError: The file is not of this version.
    """
    try:
        return Study.model_validate_json(run.read_text(STUDY))
    except ValidationError as error:
        raise CorruptDataError(
            f"{run.path}/{STUDY} is no study of this version ({error}): analyse the runs again"
        ) from None


def _common_notes(runs: Iterable[RunDirectory]) -> dict[str, ArmNote]:
    """Return the notes of all arms; raise InvalidInputError where runs differ about one."""
    notes: dict[str, ArmNote] = {}
    for run in runs:
        for note in read_arms(run):
            other = notes.setdefault(note.key, note)
            if other != note:
                raise InvalidInputError(
                    f"{run.path}: arm {note.key} is {note!r}, another run has {other!r}: they do "
                    "not go together"
                )
    return notes


def _capabilities(runs: Sequence[RunDirectory], outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return what is known of agents' capability, 0 to 100.

    That is the Artificial Analysis index where the population has it, else the success measured on
    train games set aside; of the scripted expert, its success at the games of these runs.
    """
    known: dict[str, float] = {}
    for run in runs:
        for row in yaml.safe_load(run.read_text("config.yaml")).get("agents", ()):
            scores = Agent.model_validate(row).benchmarks
            if "source_aai" in scores:
                known[row["id"]] = scores["source_aai"]
            elif "all" in scores:
                known[row["id"]] = 100 * scores["all"]
    expert = [o.success for o in outcomes if o.arm == EXPERT and not o.stop_reason.is_machinery]
    return known | ({EXPLORER: 100 * sum(expert) / len(expert)} if expert else {})


def _mode_rows(
    outcomes: Sequence[Outcome], runs: Sequence[RunDirectory], seed: int
) -> Iterable[ModeRow]:
    arms = dict.fromkeys(note.key for run in runs for note in read_arms(run))
    played = {outcome.arm for outcome in outcomes}
    for arm in arms:
        if arm in played - {NO_RETRIEVAL, EXPERT}:
            yield ModeRow(
                arm=arm,
                silent=_silent(outcome for outcome in outcomes if outcome.arm == arm),
                beside_none=_beside(outcomes, arm, NO_RETRIEVAL, played, seed),
                beside_similarity=_beside(outcomes, arm, RETRIEVAL, played, seed),
            )


def _silent(outcomes: Iterable[Outcome]) -> float:
    counts = [(outcome.retrievals, len(outcome.producers)) for outcome in outcomes]
    asked, shown = (sum(each) for each in zip(*counts, strict=True))
    return 1 - shown / asked if asked else 0.0


def _beside(
    outcomes: Sequence[Outcome], arm: str, other: str, played: set[str], seed: int
) -> Difference | None:
    return difference(outcomes, arm, other, seed=seed) if other in played - {arm} else None


def _memory(
    runs: Sequence[RunDirectory],
    notes: Mapping[str, ArmNote],
    outcomes: Sequence[Outcome],
    seed: int,
) -> MemoryCurve | None:
    if not runs:
        return None
    return memory_curve(read_summary(*runs), list(notes.values()), outcomes, seed=seed)


def _importances(rankers: RunDirectory | None) -> list[Importance]:
    return list(read_records(rankers, IMPORTANCES, Importance)) if rankers else []


def _category_shares(rows: Iterable[Importance]) -> Iterable[CategoryShare]:
    groups: defaultdict[tuple[str, str], list[Importance]] = defaultdict(list)
    total: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        groups[row.ranker, row.category].append(row)
        total[row.ranker] += row.shap
    for (ranker, category), mine in groups.items():
        yield CategoryShare(
            ranker=ranker,
            category=category,
            features=len(mine),
            permutation=sum(row.permutation for row in mine),
            shap=sum(row.shap for row in mine) / total[ranker] if total[ranker] else 0.0,
            first=max(mine, key=lambda row: row.shap).feature,
        )
