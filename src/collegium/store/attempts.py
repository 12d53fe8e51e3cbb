"""The starts of a run: when, by which process, with which versions."""

import os
import platform
from datetime import datetime
from typing import Any, Literal

from pydantic import Field, ValidationError

from collegium.core import CorruptDataError, Record
from collegium.store.problems import first_problem
from collegium.store.versions import code_versions


class Attempt(Record):
    """One start of a run."""

    schema_version: Literal[1] = 1
    attempt: int
    """From 1."""
    started: datetime
    pid: int = 0
    """Process that works, or worked, in the run directory."""
    host: str = ""
    versions: dict[str, Any] = Field(default_factory=dict)
    """Of code, packages and machine, and what the job noted of its data and evaluators."""


def new_attempt(number: int, started: datetime) -> Attempt:
    """Return the record of a start by this process."""
    return Attempt(
        attempt=number,
        started=started,
        pid=os.getpid(),
        host=platform.node(),
        versions=code_versions(),
    )


def read_attempt(data: bytes, file: str) -> Attempt:
    """Return the attempt in `data`; raises CorruptDataError naming `file`."""
    try:
        return Attempt.model_validate_json(data)
    except ValidationError as error:
        raise CorruptDataError(
            f"{file}: no attempt of a run ({first_problem(error)}); restore it"
        ) from None
