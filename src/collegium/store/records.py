"""Rows of a run directory as records."""

from collections.abc import Iterator
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from collegium.core import CorruptDataError
from collegium.store.problems import first_problem
from collegium.store.runs import RunDirectory

M = TypeVar("M", bound=BaseModel)


def read_records(run: RunDirectory, table: str, model: type[M]) -> Iterator[M]:
    """Yield the rows of `table`, oldest first.

    Raises:
        CorruptDataError: A row is no such record; the message names run, row and field.
    """
    for row in run.rows(table):
        try:
            yield model.model_validate(row)
        except ValidationError as error:
            raise CorruptDataError(
                f"{run.path}: row {row['key']!r} of table {table!r}: {first_problem(error)}; "
                "was the run made by another version?"
            ) from None
