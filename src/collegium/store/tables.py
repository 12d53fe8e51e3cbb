"""Rows as lines of JSON, and as Parquet."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from collegium.core import CorruptDataError

Row = Mapping[str, Any]


def to_lines(rows: Sequence[Row]) -> str:
    """Return one line of JSON a row; raises ValueError on NaN or infinity."""
    dumped = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
    return "".join(f"{line}\n" for line in dumped)


def parse_row(line: bytes, file: str, number: int) -> dict[str, Any]:
    """Return the row in `line`; raises CorruptDataError naming `file` and line `number`."""
    try:
        row: dict[str, Any] = json.loads(line)
        row["key"]
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptDataError(
            f"{file}, line {number}: no row of a table ({error!r}); restore the file, or delete it "
            "to have its work done again"
        ) from None
    return row


def to_parquet(rows: Sequence[Row]) -> bytes:
    """Return the rows as a Parquet file, scalars as columns, nested values as JSON text.

    A column without any value is one of floats, as most optional fields are: the type `null` would
    not go together with the same table of another run.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist(_flat(rows))
    typed = [
        pa.field(field.name, pa.float64()) if pa.types.is_null(field.type) else field
        for field in table.schema
    ]
    out = pa.BufferOutputStream()
    pq.write_table(table.cast(pa.schema(typed)), out, compression="zstd")
    data: bytes = out.getvalue().to_pybytes()
    return data


def _flat(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Keep scalars as columns and nested values as JSON text: one schema for all rows."""
    scalar = (bool, int, float, str, type(None))
    return [
        {
            k: v if isinstance(v, scalar) else json.dumps(v, ensure_ascii=False)
            for k, v in row.items()
        }
        for row in rows
    ]
