"""All trajectories ever contributed, successful or not, as Parquet files in a folder.

Each `append` writes one file whole; a trajectory that is there already is skipped, so a repeated
`append` changes nothing. Beside the columns to filter and count by, `record` holds the trajectory
as JSON.
"""

import json
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from collegium.core import CorruptDataError, Trajectory
from collegium.store.files import write_whole

COLUMNS = pa.schema(
    [
        ("trajectory_id", pa.string()),
        ("partition", pa.int32()),
        ("producer", pa.string()),
        ("environment", pa.string()),
        ("task_id", pa.string()),
        ("task_type", pa.string()),
        ("split", pa.string()),
        ("success", pa.bool_()),
        ("score", pa.float64()),
        ("n_steps", pa.int32()),
        ("record", pa.string()),
    ]
)


class Contributed(NamedTuple):
    """How many trajectories of a partition came from one producer, and how many succeeded."""

    partition: int
    producer: str
    trajectories: int
    successes: int


class TrajectoryStore:
    """Trajectories by partition; one writer at a time."""

    def __init__(self, directory: Path) -> None:
        """Open the folder; it is made by the first `append`."""
        self._directory = directory
        self._known = set(self._column("trajectory_id"))

    def append(self, trajectories: Sequence[Trajectory], partition: int) -> int:
        """Store those not there yet under `partition`; return how many they were."""
        new = {t.trajectory_id: t for t in trajectories if t.trajectory_id not in self._known}
        if new:
            rows = [_row(trajectory, partition) for trajectory in new.values()]
            table = pa.Table.from_pylist(rows, schema=COLUMNS)
            name = f"p{partition:05d}-{len(self._files()):05d}-{uuid.uuid4().hex[:8]}.parquet"
            write_whole(
                self._directory / name, lambda out: pq.write_table(table, out, compression="zstd")
            )
            self._known |= new.keys()
        return len(new)

    def read(self, partition: int | None = None) -> Iterator[Trajectory]:
        """Yield the trajectories of one partition, or all, in the order they were stored."""
        wanted = "p" if partition is None else f"p{partition:05d}-"
        for file in self._files():
            if file.name.startswith(wanted):
                for text in self._table(file, ["record"])["record"].to_pylist():
                    yield _parse(text, file)

    def counts(self) -> list[Contributed]:
        """Return the counts by partition and producer, in that order."""
        total: Counter[tuple[int, str]] = Counter()
        won: Counter[tuple[int, str]] = Counter()
        for file in self._files():
            for row in self._table(file, ["partition", "producer", "success"]).to_pylist():
                group = (row["partition"], row["producer"])
                total[group] += 1
                won[group] += row["success"]
        return [Contributed(*group, total[group], won[group]) for group in sorted(total)]

    def _files(self) -> list[Path]:
        return sorted(self._directory.glob("p*.parquet"))

    def _column(self, name: str) -> Iterator[str]:
        for file in self._files():
            yield from self._table(file, [name])[name].to_pylist()

    def _table(self, file: Path, columns: list[str]) -> pa.Table:
        try:
            return pq.read_table(file, columns=columns)
        except (OSError, pa.ArrowException) as error:
            raise CorruptDataError(
                f"{file}: not a readable trajectory file ({error}); restore it or build the "
                "memory anew"
            ) from error


def _row(trajectory: Trajectory, partition: int) -> dict[str, Any]:
    return {
        "trajectory_id": trajectory.trajectory_id,
        "partition": partition,
        "producer": trajectory.producer,
        "environment": trajectory.task.environment,
        "task_id": trajectory.task.task_id,
        "task_type": trajectory.task.task_type,
        "split": trajectory.task.split,
        "success": trajectory.success,
        "score": trajectory.score,
        "n_steps": len(trajectory.steps),
        "record": json.dumps(trajectory.model_dump(mode="json"), ensure_ascii=False),
    }


def _parse(text: str, file: Path) -> Trajectory:
    try:
        return Trajectory.model_validate_json(text)
    except ValidationError as error:
        raise CorruptDataError(f"{file}: holds no trajectory of this version: {error}") from error
