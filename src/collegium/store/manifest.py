"""`manifest.json` of a finished run: its rows by table, and the SHA-256 of each file."""

import hashlib
from typing import Annotated, Literal

from pydantic import StringConstraints, ValidationError

from collegium.core import CorruptDataError, Record
from collegium.store.problems import first_problem

TableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")]
"""Names a file in one folder, and nothing outside it."""


class Manifest(Record):
    """The content of `manifest.json`."""

    schema_version: Literal[1] = 1
    rows: dict[TableName, int]
    """Rows by table."""
    files: dict[str, str]
    """SHA-256 of each file by its name below the run directory; not of those made again at will."""

    @classmethod
    def parse(cls, text: str, where: str) -> "Manifest":
        """Return the manifest in `text`; raises CorruptDataError naming the run directory."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise CorruptDataError(
                f"{where}/manifest.json is no manifest of this version ({first_problem(error)}): "
                "resume the run, which writes it anew"
            ) from None

    def check(self, name: str, data: bytes, where: str) -> bytes:
        """Return `data` if it is what the run finished with as `name`, else raise CorruptDataError.

        Files that the manifest does not name pass.
        """
        found = hashlib.sha256(data).hexdigest()
        if (expected := self.files.get(name, found)) != found:
            raise CorruptDataError(
                f"{where}/{name} has SHA-256 {found}, the manifest says {expected}: restore it, or "
                "resume the run, which writes tables anew"
            )
        return data
