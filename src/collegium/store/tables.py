"""Rows as lines of JSON, and as Parquet."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from collegium.core import CorruptDataError, InvalidInputError

Row = Mapping[str, Any]
_SCALAR = (bool, int, float, str, type(None))


def to_lines(rows: Sequence[Row]) -> str:
    """Return one line of JSON a row.

    Raises:
        InvalidInputError: A row has no such line, as with NaN or half a surrogate pair.
    """
    return "".join(map(_line, rows))


def _line(row: Row) -> str:
    try:
        line = json.dumps(row, ensure_ascii=False, allow_nan=False)
        line.encode()
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"row {row.get('key')!r} cannot be stored: {error}") from None
    return f"{line}\n"


def parse_row(line: bytes, file: str, number: int) -> dict[str, Any]:
    """Return the row in `line`; raises CorruptDataError naming `file` and line `number`."""
    try:
        row: dict[str, Any] = json.loads(line)
        if not isinstance(row["key"], str):
            raise TypeError("its key is no string")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptDataError(
            f"{file}, line {number}: no row of a table ({error!r}); restore the file, or delete it "
            "to have its work done again"
        ) from None
    return row


def to_parquet(rows: Sequence[Row]) -> bytes:
    """Return the rows as a Parquet file, with a column for each key that any row has.

    Nested values are JSON texts; so is all of a column whose values have no type in common. A
    column without any value is one of floats, as most optional fields are: the type `null` would
    not go together with the same table of another run.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = dict.fromkeys(name for row in rows for name in row)
    table = pa.table({name: _column([row.get(name) for row in rows]) for name in names})
    out = pa.BufferOutputStream()
    pq.write_table(table, out, compression="zstd")
    data: bytes = out.getvalue().to_pybytes()
    return data


def _column(values: Sequence[Any]) -> Any:
    import pyarrow as pa

    try:
        column = pa.array([v if isinstance(v, _SCALAR) else _text(v) for v in values])
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        column = pa.array([None if v is None else _text(v) for v in values])
    return column.cast(pa.float64()) if pa.types.is_null(column.type) else column


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
