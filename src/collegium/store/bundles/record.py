"""`bundle.json`: what a bundle holds. It comes from elsewhere, so each name in it is checked."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from collegium.core import CorruptDataError, InvalidInputError, NotFoundError, Record, content_id
from collegium.store.problems import first_problem

MANIFEST = "bundle.json"

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")

FileName = Annotated[str, StringConstraints(pattern=f"^{_NAME.pattern}$", max_length=200)]
"""A relative path that names neither a hidden file nor anything outside its folder."""
Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


class Bundle(Record):
    """The content of `bundle.json`."""

    schema_version: Literal[1] = 1
    kind: str
    """What the files are together, such as `adapter`."""
    name: str
    """The name that its producer gave it."""
    files: dict[FileName, Sha256] = Field(min_length=1)
    """SHA-256 of each file by its name; `bundle.json` itself is not among them."""

    @property
    def digest(self) -> str:
        """Identity of the content: kind, name and files; 64 hex digits."""
        return content_id(self, length=64)

    @classmethod
    def of(cls, kind: str, name: str, files: Mapping[str, Path]) -> "Bundle":
        """Return the bundle of these local files.

        Raises:
            InvalidInputError: A file cannot be named in a bundle.
            NotFoundError: A file is not there.
        """
        wrong = [each for each in files if not _NAME.fullmatch(each) or each == MANIFEST]
        if wrong:
            raise InvalidInputError(
                f"{wrong[0]!r} cannot be the name of a file in a bundle: rename it to letters, "
                "digits, '.', '_' and '-'"
            )
        gone = [each for each, path in files.items() if not path.is_file()]
        if gone:
            raise NotFoundError(f"{files[gone[0]]} is not there: nothing is pushed")
        digests = {each: file_sha256(path) for each, path in sorted(files.items())}
        return cls(kind=kind, name=name, files=digests)

    @classmethod
    def parse(cls, text: bytes, where: str) -> "Bundle":
        """Return the bundle that `text`, found at `where`, describes.

        Raises:
            CorruptDataError: It describes none, or one of a newer version.
        """
        try:
            bundle = cls.model_validate_json(text)
        except ValidationError as error:
            raise CorruptDataError(
                f"{where}/{MANIFEST} describes no bundle ({first_problem(error)})"
            ) from None
        if MANIFEST in bundle.files:
            raise CorruptDataError(f"{where}/{MANIFEST} names itself among the files")
        if both := bundle.files.keys() & {
            folder for name in bundle.files for folder in _over(name)
        }:
            raise CorruptDataError(f"{where}/{MANIFEST} names {min(both)} as a file and a folder")
        return bundle

    def check(self, folder: Path, where: str) -> None:
        """Raise CorruptDataError naming the first file in `folder` that is not the one named."""
        for name, expected in self.files.items():
            found = file_sha256(folder / name) if (folder / name).is_file() else "none"
            if found != expected:
                raise CorruptDataError(
                    f"{where}/{name} has SHA-256 {found}, {MANIFEST} says {expected}: push it again"
                )


def _over(name: str) -> set[str]:
    """Return the folders that a file of this name lies in."""
    return {str(folder) for folder in PurePosixPath(name).parents}


def file_sha256(file: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
