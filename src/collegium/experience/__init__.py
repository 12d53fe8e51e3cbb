"""Shared experience (MATM): chunks of trajectories, the index that finds them, the memory."""

from collegium.experience.branching import (
    CONTROL,
    FUTURE,
    BranchingConfig,
    BranchPoint,
    choose_steps,
    open_points,
)
from collegium.experience.chunks import chunk_trajectory
from collegium.experience.construction import Partition, grow_memory, partition_tasks
from collegium.experience.importers import Imported, Importer, Outcome, read_recordings
from collegium.experience.index import (
    ExactIndexConfig,
    IndexConfig,
    LanceIndexConfig,
    PluginIndexConfig,
    Scope,
    VectorIndex,
)
from collegium.experience.labels import LABELS, UtilityLabel, label_point, read_labels
from collegium.experience.memory import (
    Contribution,
    ExperienceMemory,
    Growth,
    MemoryConfig,
    Snapshot,
)
from collegium.experience.replay import expert_trajectories, replay
from collegium.experience.retrieval import IndexRetriever, RetrievalConfig

__all__ = [
    "CONTROL",
    "FUTURE",
    "LABELS",
    "BranchPoint",
    "BranchingConfig",
    "Contribution",
    "ExactIndexConfig",
    "ExperienceMemory",
    "Growth",
    "Imported",
    "Importer",
    "IndexConfig",
    "IndexRetriever",
    "LanceIndexConfig",
    "MemoryConfig",
    "Outcome",
    "Partition",
    "PluginIndexConfig",
    "RetrievalConfig",
    "Scope",
    "Snapshot",
    "UtilityLabel",
    "VectorIndex",
    "choose_steps",
    "chunk_trajectory",
    "expert_trajectories",
    "grow_memory",
    "label_point",
    "open_points",
    "partition_tasks",
    "read_labels",
    "read_recordings",
    "replay",
]
