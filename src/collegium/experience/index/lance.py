"""The LanceDB index: for corpora beyond what one matrix product should scan.

One table `chunks` holds the columns of `rows.COLUMNS`, a running `position` and the vector. Each
`add` is one commit, and tags it `D_<p>` for every partition it brings, so any D_p can be read by
other tools too. Searches are exact scans, with the filter applied first, until the table is larger
than `index_above` rows; from then on an IVF index answers, which may miss a close chunk now and
then (recall about 0.99). Distances are summed again in float64, and ties fetched until they end.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collegium.core import Chunk, MissingDependencyError
from collegium.experience.index.headers import open_header
from collegium.experience.index.protocol import Census, Hit, IndexHeader, Scope, SearchFilter
from collegium.experience.index.rows import (
    COLUMNS,
    Batch,
    census_of,
    check_search,
    new_rows,
    squared_l2,
)

if TYPE_CHECKING:
    from lancedb.table import Table

INDEX_ABOVE = 300_000
"""Rows up to which a scan is the better search."""

_EXTRA_ROWS = 16
"""Fetched beyond k, so that most ties end within the first fetch."""


class LanceIndex:
    """A `VectorIndex` in a LanceDB table."""

    def __init__(
        self,
        directory: Path,
        header: IndexHeader | None = None,
        *,
        index_above: int = INDEX_ABOVE,
    ) -> None:
        """Open the index in `directory`, or make it when `header` is given and it is not there.

        Raises:
            MissingDependencyError: LanceDB is not installed.
            NotFoundError: There is no index and no header to make one.
            InvalidInputError: The index there has another header.
        """
        self.directory = directory
        self.header = open_header(directory, header)
        self._index_above = index_above
        self._table = _open_table(directory, self.header.dimension)
        self._known = self._keys()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), self.directory, self._index_above)

    def add(self, chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> int:
        """See `VectorIndex.add`."""
        batch = new_rows(self.header, chunks, vectors, self._known)
        if batch.table.num_rows:
            self._table.add(self._with_vectors(batch))
            self._known |= set(batch.table["dedup_key"].to_pylist())
        self._tag({c.partition for c in chunks}, set(batch.table["partition"].to_pylist()))
        if batch.table.num_rows:
            self._keep_indexed()
        return int(batch.table.num_rows)

    def refresh(self) -> None:
        """See `VectorIndex.refresh`."""
        seen = self._table.version
        self._table.checkout_latest()
        if self._table.version != seen:
            self._known = self._keys()

    def search(
        self, vectors: NDArray[np.float32], k: int, filters: Sequence[SearchFilter]
    ) -> list[list[Hit]]:
        """See `VectorIndex.search`."""
        check_search(self.header, vectors, k, filters)
        return [
            self._closest(query, k, _where(wanted))
            for query, wanted in zip(vectors, filters, strict=True)
        ]

    def count(self, as_of: int | None = None) -> int:
        """See `VectorIndex.count`."""
        return int(self._table.count_rows(_where(SearchFilter(as_of=as_of)) or None))

    def census(self) -> list[Census]:
        """See `VectorIndex.census`."""
        return census_of(self._columns("partition", "producer", "task_type"))

    def chunks(self, as_of: int | None = None) -> Iterator[Chunk]:
        """See `VectorIndex.chunks`."""
        wanted = _where(SearchFilter(as_of=as_of))
        table = self._columns("position", "record", where=wanted).sort_by("position")
        for text in table["record"]:
            yield Chunk.model_validate_json(text.as_py())

    def _keys(self) -> set[str]:
        return set(self._columns("dedup_key")["dedup_key"].to_pylist())

    def _with_vectors(self, batch: Batch) -> pa.Table:
        first = self._table.count_rows()
        positions = pa.array(range(first, first + batch.table.num_rows), pa.int64())
        vectors = pa.FixedSizeListArray.from_arrays(
            pa.array(batch.vectors.ravel()), self.header.dimension
        )
        return batch.table.append_column("position", positions).append_column("vector", vectors)

    def _tag(self, partitions: set[int], grown: set[int]) -> None:
        """Let D_p name this version, where p has grown or an earlier `add` was killed before."""
        tags, version = self._table.tags, self._table.version
        there = tags.list()
        for partition in sorted(partitions):
            name = f"D_{partition}"
            if name not in there:
                tags.create(name, version)
            elif partition in grown:
                tags.update(name, version)

    def _keep_indexed(self) -> None:
        if self._table.count_rows() <= self._index_above:
            return
        if self._table.list_indices():
            self._table.optimize()
        else:
            from lancedb.index import IvfFlat

            self._table.create_index("vector", config=IvfFlat(distance_type="l2"))

    def _closest(self, query: NDArray[np.float32], k: int, where: str) -> list[Hit]:
        limit = k + _EXTRA_ROWS
        while True:
            fetched = self._fetch(query, limit, where)
            vectors = fetched["vector"].combine_chunks().flatten().to_numpy()
            distances = squared_l2(query, vectors.reshape(-1, self.header.dimension)).tolist()
            ids = fetched["chunk_id"].to_pylist()
            order = sorted(zip(distances, ids, range(len(ids)), strict=True))
            if len(ids) < limit or order[k - 1][0] < order[-1][0]:
                break
            limit *= 4
        records = fetched["record"]
        return [
            Hit(Chunk.model_validate_json(records[row].as_py()), distance)
            for distance, _, row in order[:k]
        ]

    def _fetch(self, query: NDArray[np.float32], limit: int, where: str) -> pa.Table:
        search = self._table.search(query).distance_type("l2").limit(limit)
        if where:
            search = search.where(where, prefilter=True)
        return search.select(["chunk_id", "record", "vector", "_distance"]).to_arrow()

    def _columns(self, *names: str, where: str = "") -> pa.Table:
        scan = self._table.search()
        if where:
            scan = scan.where(where)
        return scan.select(list(names)).to_arrow()


def _reopen(kind: type[LanceIndex], directory: Path, index_above: int) -> LanceIndex:
    return kind(directory, index_above=index_above)


def _open_table(directory: Path, dimension: int) -> "Table":
    try:
        import lancedb
    except ImportError as error:
        raise MissingDependencyError(
            "LanceDB is not installed: pip install 'collegium[lancedb]'"
        ) from error
    database = lancedb.connect(directory)
    schema = COLUMNS.append(pa.field("position", pa.int64())).append(
        pa.field("vector", pa.list_(pa.float32(), dimension))
    )
    return database.create_table("chunks", schema=schema, exist_ok=True)


def _where(wanted: SearchFilter) -> str:
    """Return the filter as SQL; empty when everything passes."""
    conditions = []
    if wanted.as_of is not None:
        conditions.append(f"partition <= {wanted.as_of:d}")
    if wanted.scope is Scope.SAME_TASK:
        conditions.append(f"task_type = {_quoted(wanted.task_type)}")
    elif wanted.scope is Scope.CROSS_TASK:
        conditions.append(f"task_type <> {_quoted(wanted.task_type)}")
    if wanted.exclude_task_id is not None:
        conditions.append(f"task_id <> {_quoted(wanted.exclude_task_id)}")
    return " AND ".join(conditions)


def _quoted(text: str) -> str:
    """Return `text` as an SQL string: data stays data."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
