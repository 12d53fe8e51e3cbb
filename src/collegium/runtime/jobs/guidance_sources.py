"""From modes to guidance sources: where each arm of an evaluation gets its guidance.

All of them stand on one snapshot D_P, share its embedder, and see the same first stage.
"""

import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from collegium.agents.protocol import GuidanceSource
from collegium.core import Chunk, ConfigError, InvalidInputError, NotFoundError, Task
from collegium.embedding.shared import SharedEmbedder
from collegium.environments.household import GameStore
from collegium.evaluation.arms import (
    ARMS,
    ORACLE,
    RANDOM,
    RETRIEVAL,
    UNGUIDED,
    WARNINGS,
    Arm,
    ArmNote,
    read_arms,
)
from collegium.experience import RetrievalConfig, Snapshot, chunk_trajectory, expert_trajectories
from collegium.experience.sources import OwnTaskSource, RandomSource
from collegium.experience.subsets import failed_chunks, index_of, subset_of
from collegium.ranking.card import RankingModel, load_model
from collegium.ranking.cascade import RerankingSource
from collegium.ranking.personal import clone_group
from collegium.runtime.jobs.configs import EvaluateAgentsConfig
from collegium.runtime.jobs.games import local_folder
from collegium.runtime.jobs.memory import built_memory, store_growth
from collegium.runtime.jobs.train_rerankers import MODELS, RANKERS, RankerRow
from collegium.store import RunDirectory
from collegium.store.records import read_records

_MEMORY = "memory.json"


class GuidanceSources:
    """The guidance source of each arm and offset."""

    def __init__(
        self,
        config: EvaluateAgentsConfig,
        run: RunDirectory,
        store: GameStore,
        tasks: Sequence[Task],
    ) -> None:
        """Make what the configured arms need, and note in `run` what it was.

        Raises:
            NotFoundError: There is no memory, or no such model.
            InvalidInputError: The memory holds nothing to retrieve.
            ConfigError: The run was begun with another memory or other models.
        """
        self._config = config
        self._store = store
        self._tasks = tasks
        self._arms = {arm.name: arm for arm in config.arms}
        models = [arm for arm in config.arms if arm.is_model]
        refused = _refusals(config.rankers) if models else {}
        self.refused = {arm.name: refused[arm.mode] for arm in models if arm.mode in refused}
        """Arms of models that training refused, with the reason."""
        played = [arm for arm in config.arms if arm.name not in self.refused]
        self._models = {arm.mode: _load(config.rankers, arm.mode) for arm in played if arm.is_model}
        guided = [arm for arm in played if arm.mode not in UNGUIDED]
        if guided:
            self._open_memory(run, guided)
        self._note_arms(run)
        self._made = {
            key: self._make(arm, key[1])
            for arm in guided
            for key in dict.fromkeys(_key(arm, offset) for offset in config.offsets)
        }

    def of(self, arm: str, offset: int) -> GuidanceSource | None:
        """Return the source of an arm's episodes under an offset; None for agents alone."""
        return self._made.get(_key(self._arms[arm], offset))

    def first_stage(self, arm: Arm, offset: int) -> GuidanceSource:
        """Return retrieval by similarity, under the arm's scope and from its part of the memory."""
        config = _retrieval(self._config, arm)
        if arm.fraction == 1:
            return self.snapshot.retriever(config)
        kept = subset_of(self.chunks, arm.fraction, self._config.seed, offset)
        return self._indexed(kept, config)

    def random(self, arm: Arm, _offset: int) -> GuidanceSource:
        """Return any chunk."""
        config = _retrieval(self._config, arm)
        return RandomSource(self.chunks, self.snapshot.embedder, config, self._config.seed)

    def oracle(self, _arm: Arm, _offset: int) -> GuidanceSource:
        """Return what the expert did in the very game, where it won."""
        played = expert_trajectories(
            self._tasks,
            self._store,
            seed=self._config.seed,
            step_limit=self._config.loop.step_limit,
        )
        window = self._memory.config.window
        chunks = [chunk for t in played if t.success for chunk in chunk_trajectory(t, window)]
        return OwnTaskSource(chunks, self.snapshot.embedder)

    def warnings(self, arm: Arm, _offset: int) -> GuidanceSource:
        """Return what failed in similar states."""
        failed = list(failed_chunks(self._memory, self.snapshot))
        if not failed:
            raise InvalidInputError(
                f"{self._config.memory}: no failed trajectory to warn of; leave out {arm.name}"
            )
        return self._indexed(failed, _retrieval(self._config, arm))

    def ranked(self, arm: Arm, offset: int) -> GuidanceSource:
        """Return what a trained ranker puts first."""
        source = RerankingSource(
            self.first_stage(arm, offset),
            self._models[arm.mode],
            self.snapshot.embedder,
            self._config.candidates,
            {agent.id: clone_group(agent) for agent in self._config.agents},
        )
        source.prepare(self.chunks)
        return source

    @cached_property
    def chunks(self) -> list[Chunk]:
        """All chunks of the snapshot."""
        return list(self.snapshot.chunks())

    def _make(self, arm: Arm, offset: int) -> GuidanceSource:
        make = GuidanceSources.ranked if arm.is_model else _SOURCES[arm.mode]
        return make(self, arm, offset)

    def _open_memory(self, run: RunDirectory, guided: Sequence[Arm]) -> None:
        memory_run = RunDirectory(str(self._config.memory))
        self._memory = built_memory(memory_run)
        snapshot = self._memory.as_of(_partition(memory_run, self._memory.sealed - 1, run))
        if not snapshot.count():
            names = ", ".join(arm.name for arm in guided)
            raise InvalidInputError(
                f"{memory_run.path}: the memory holds no chunk to retrieve, which {names} would"
            )
        store_growth(snapshot, run)
        self.snapshot: Snapshot = replace(snapshot, embedder=SharedEmbedder(snapshot.embedder))

    def _note_arms(self, run: RunDirectory) -> None:
        """Store what the arms are, or raise ConfigError if a model is another one."""
        notes = list(map(self._note, self._config.arms))
        stored = {note.key: note for note in read_arms(run)}
        for note in notes:
            if (earlier := stored.get(note.key)) and earlier.model_id != note.model_id:
                raise ConfigError(
                    f"{run.path} was begun with model {earlier.model_id} as {note.key}, but "
                    f"{note.folder} now has {note.model_id}: use another run directory"
                )
        if new := [note.model_dump(mode="json") for note in notes if note.key not in stored]:
            run.append(ARMS, new)

    def _note(self, arm: Arm) -> ArmNote:
        model = self._models.get(arm.mode)
        folder = _models_folder(self._config.rankers) / arm.mode if arm.is_model else None
        return ArmNote(
            key=arm.name,
            mode=arm.mode,
            scope=_retrieval(self._config, arm).scope,
            fraction=arm.fraction,
            folder=str(folder) if folder else None,
            model_id=model.card.model_id if model else None,
            refused=self.refused.get(arm.name, ""),
        )

    def _indexed(self, chunks: Sequence[Chunk], config: RetrievalConfig) -> GuidanceSource:
        folder = tempfile.mkdtemp()
        source = index_of(
            chunks, self.snapshot.embedder, self._memory.grammar, Path(folder, "index"), config
        )
        weakref.finalize(source, shutil.rmtree, folder, ignore_errors=True)
        return source


_SOURCES: Mapping[str, Callable[[GuidanceSources, Arm, int], GuidanceSource]] = MappingProxyType(
    {
        RETRIEVAL: GuidanceSources.first_stage,
        RANDOM: GuidanceSources.random,
        ORACLE: GuidanceSources.oracle,
        WARNINGS: GuidanceSources.warnings,
    }
)
"""Mode -> its source; every other guided mode is a model's name."""


def _key(arm: Arm, offset: int) -> tuple[str, int]:
    """Return what an arm's source depends on: a part of the memory is drawn for each offset."""
    return arm.name, offset if arm.fraction < 1 else 0


def _refusals(rankers: str | None) -> dict[str, str]:
    """Return the models that training refused, with the reasons."""
    rows = read_records(RunDirectory(str(rankers)), RANKERS, RankerRow)
    return {row.key: row.refused for row in rows if row.refused}


def _models_folder(rankers: str | None) -> Path:
    return local_folder(RunDirectory(str(rankers)), MODELS)


def _load(rankers: str | None, name: str) -> RankingModel:
    """Return a trained model; raises NotFoundError with the known ones."""
    models = _models_folder(rankers)
    known = sorted(card.parent.name for card in models.glob("*/card.json"))
    if name not in known:
        raise NotFoundError(
            f"no model {name!r} in {models}; there: {', '.join(known) or 'none'}. Train it with "
            "pipelines/train_rerankers.py, or correct the arm's mode"
        )
    return load_model(models / name)


def _retrieval(config: EvaluateAgentsConfig, arm: Arm) -> RetrievalConfig:
    return config.retrieval.model_copy(update={"scope": arm.scope} if arm.scope else {})


def _partition(memory_run: RunDirectory, newest: int, run: RunDirectory) -> int:
    """Return P as it was when the evaluation started, also when the memory grew since."""
    digest = memory_run.read_text("digest.txt").strip()
    if run.exists(_MEMORY):
        noted = json.loads(run.read_text(_MEMORY))
        if noted["digest"] != digest:
            raise ConfigError(
                f"{run.path} was begun with the memory of run {noted['digest']}, but "
                f"{memory_run.path} is {digest}: use another run directory"
            )
        return int(noted["partition"])
    noted = {"run": memory_run.path, "digest": digest, "partition": newest}
    run.write_text(_MEMORY, json.dumps(noted, indent=1))
    return newest
