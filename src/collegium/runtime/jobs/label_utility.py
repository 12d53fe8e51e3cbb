"""Builds the shared memory and labels what helps, in one run: MATM's App. I as it stands.

As in `build_memory`, each task of partition p is played once without retrieval. Each such baseline
is then branched: at some of its states, candidates come from D_{p-1}, and one future is played for
each chosen rank, beside a control without guidance. Baselines and futures enter D_p by the same
rule; controls never do. The run directory is that of a memory, with the tables `labels`,
`branchings` and `credits` beside.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Literal, NamedTuple

from collegium.agents.units import BranchUnit
from collegium.core import Episode, Guidance, Query, Record, integer_seed
from collegium.experience import (
    CONTROL,
    FUTURE,
    LABELS,
    BranchingConfig,
    BranchPoint,
    ExperienceMemory,
    Partition,
    UtilityLabel,
    choose_steps,
    label_point,
    open_points,
    read_labels,
)
from collegium.experience.construction import PlayPartition
from collegium.experience.credit import CREDITS, CreditRow, credit_by_labels
from collegium.runtime.jobs.build_memory import Baselines, MemoryBuilt, construct
from collegium.runtime.jobs.configs import LabelUtilityConfig
from collegium.runtime.jobs.episodes import EpisodePlayer, JobContext, Planned
from collegium.store import RunDirectory
from collegium.store.records import read_records

BRANCHINGS = "branchings"
"""Table with what became of each baseline's branching points."""


class BranchingRow(Record):
    """What became of one baseline's branching points."""

    schema_version: Literal[1] = 1
    key: str
    """The baseline's."""
    question: str
    agent: str
    partition: int
    baseline_steps: int
    chosen: tuple[int, ...]
    """Steps before which it was to be branched."""
    skipped: int
    """Points left out because the way there went otherwise than in the baseline."""
    candidates: tuple[int, ...]
    """Chunks that the retrieval found, one number a point that was reached."""


class LabelledMemory(Record):
    """What `label_utility` left."""

    memory: MemoryBuilt
    points: int
    """Branching points reached."""
    skipped: int
    """Branching points left out."""
    labels: dict[str, int]
    """Futures by what became of them against their baseline: `better`, `same`, `worse`."""
    paired: dict[str, int]
    """The same against their controls; futures without a control are left out."""
    credits: tuple[CreditRow, ...]
    """What each producer's guidance was worth."""


async def label_utility(config: LabelUtilityConfig, context: JobContext) -> LabelledMemory:
    """Build the memory and its labels in the run directory, or go on with them.

    Raises:
        NotFoundError: Games or recordings are not there.
        BudgetExceededError: The budget is spent; the run can be resumed.
    """

    def branching(memory: ExperienceMemory, player: EpisodePlayer) -> PlayPartition:
        return _Branching(config, memory, player, context).play

    memory = await construct(config, context, branching)
    _store_new(context.run, CREDITS, credit_by_labels(read_labels(context.run)))
    context.run.finish()
    return _labelled(memory, context.run)


class _Asked(NamedTuple):
    """A branching point with what the memory answered there."""

    point: BranchPoint
    query: Query
    found: list[Guidance]

    def shown(self, ranks: Sequence[int]) -> list[Guidance]:
        """Return the candidates at `ranks`, as far as there are so many."""
        return [self.found[rank - 1] for rank in ranks if rank <= len(self.found)]


class _Branching:
    """Plays the baselines of one partition after the other, and branches them."""

    def __init__(
        self,
        config: LabelUtilityConfig,
        memory: ExperienceMemory,
        player: EpisodePlayer,
        context: JobContext,
    ) -> None:
        self._config = config
        self._memory = memory
        self._player = player
        self._context = context
        self._baselines = Baselines(config, player, context)

    async def play(self, partition: Partition) -> Sequence[Episode]:
        """Play, branch and label the partition; return what may enter the memory."""
        baselines = await self._baselines.play(partition)
        asked = await self._ask(self._open(baselines), partition.number)
        self._store_branchings(baselines, asked)
        name = f"branches of partition {partition.number} of {self._config.partitions}"
        self._context.progress.stage(name)
        planned = [branch for at in asked for branch in self._plan(at)]
        await self._player.play(planned, self._baselines.policy)
        branches = self._player.episodes(planned)
        self._store_labels(asked, {branch.key: branch for branch in branches})
        return [*baselines, *(branch for branch in branches if branch.arm == FUTURE)]

    def _open(self, baselines: Sequence[Episode]) -> list[BranchPoint]:
        config = self._config.branching
        return [
            point
            for baseline in baselines
            if not baseline.stop_reason.is_machinery
            for point in open_points(
                baseline,
                choose_steps(baseline.trajectory, config, baseline.partition),
                partial(self._player.environment, baseline.trajectory.task),
                config.mode,
            )
        ]

    async def _ask(self, points: Sequence[BranchPoint], partition: int) -> list[_Asked]:
        """Retrieve at all points from what earlier partitions left."""
        source = self._memory.as_of(partition - 1).retriever(self._config.retrieval)
        queries = [point.query(self._config.loop.step_limit) for point in points]
        candidates = self._config.branching.candidates
        found = await asyncio.gather(*(source.retrieve(query, candidates) for query in queries))
        return [_Asked(*one) for one in zip(points, queries, found, strict=True)]

    def _plan(self, at: _Asked) -> list[Planned]:
        """Return the branches of one point side by side, so that engines can batch them."""
        shown: list[Guidance | None] = [*at.shown(self._config.branching.ranks)]
        if shown and self._config.branching.control:
            shown.append(None)
        task = at.point.baseline.trajectory.task
        return [
            Planned(unit, task, partial(at.point.enter, guidance))
            for guidance in shown
            for unit in branch_units(self._config, at.point, guidance)
        ]

    def _store_labels(self, asked: Sequence[_Asked], branches: dict[str, Episode]) -> None:
        """Store the labels of a partition that are not stored yet."""

        def played(point: BranchPoint, guidance: Guidance | None) -> list[Episode]:
            units = branch_units(self._config, point, guidance)
            return [branches[unit.key] for unit in units if unit.key in branches]

        labels = [
            label
            for at in asked
            for label in label_point(
                at.point,
                at.query,
                [(g, played(at.point, g)) for g in at.shown(self._config.branching.ranks)],
                played(at.point, None),
                self._memory.index.header.embedder,
            )
        ]
        _store_new(self._context.run, LABELS, labels)

    def _store_branchings(self, baselines: Sequence[Episode], asked: Sequence[_Asked]) -> None:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for at in asked:
            found[at.point.baseline.key].append(len(at.found))
        rows = [
            _branching(self._config.branching, baseline, found[baseline.key])
            for baseline in baselines
            if not baseline.stop_reason.is_machinery
        ]
        _store_new(self._context.run, BRANCHINGS, rows)


def branch_units(
    config: LabelUtilityConfig, point: BranchPoint, guidance: Guidance | None
) -> list[BranchUnit]:
    """Return the episodes that continue `point` with `guidance`, or as its control: one a repeat.

    All branches of one repeat share a seed, which differs from the baseline's.
    """
    trajectory = point.baseline.trajectory
    return [
        BranchUnit(
            arm=FUTURE if guidance else CONTROL,
            environment=trajectory.task.environment,
            task_id=trajectory.task.task_id,
            agent_id=trajectory.producer,
            partition=point.baseline.partition,
            # Tables hold signed integers of 64 bits.
            seed=integer_seed(config.seed, "branch", repeat) >> 33,
            step=point.step,
            rank=guidance.rank if guidance else 0,
            repeat=repeat,
        )
        for repeat in range(config.branching.repeats)
    ]


def _branching(config: BranchingConfig, baseline: Episode, found: Sequence[int]) -> BranchingRow:
    chosen = choose_steps(baseline.trajectory, config, baseline.partition)
    return BranchingRow(
        key=baseline.key,
        question=baseline.trajectory.task.task_id,
        agent=baseline.trajectory.producer,
        partition=baseline.partition,
        baseline_steps=len(baseline.trajectory.steps),
        chosen=tuple(chosen),
        skipped=len(chosen) - len(found),
        candidates=tuple(found),
    )


def _store_new(
    run: RunDirectory, table: str, rows: Sequence[BranchingRow | UtilityLabel | CreditRow]
) -> None:
    stored = run.keys(table)
    if new := [row.model_dump(mode="json") for row in rows if row.key not in stored]:
        run.append(table, new)


def _labelled(memory: MemoryBuilt, run: RunDirectory) -> LabelledMemory:
    branchings = list(read_records(run, BRANCHINGS, BranchingRow))
    labels = list(read_labels(run))
    return LabelledMemory(
        memory=memory,
        points=sum(len(row.candidates) for row in branchings),
        skipped=sum(row.skipped for row in branchings),
        labels=_signs(label.label for label in labels),
        paired=_signs(label.utility for label in labels if label.utility is not None),
        credits=tuple(read_records(run, CREDITS, CreditRow)),
    )


def _signs(differences: Iterable[float]) -> dict[str, int]:
    values = list(differences)
    better = sum(value > 0 for value in values)
    worse = sum(value < 0 for value in values)
    return {"better": better, "same": len(values) - better - worse, "worse": worse}
