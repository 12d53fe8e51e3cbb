"""The header file of an index: written once, and checked each time the index is opened."""

from pathlib import Path

from pydantic import ValidationError

from collegium.core import CorruptDataError, InvalidInputError, NotFoundError
from collegium.experience.index.protocol import IndexHeader
from collegium.store.files import write_text


def open_header(directory: Path, wanted: IndexHeader | None) -> IndexHeader:
    """Return the header in `directory`, writing `wanted` there when there is none.

    Raises:
        NotFoundError: There is no header, and none is wanted.
        InvalidInputError: The header there differs from the one wanted.
        CorruptDataError: The file is not a header.
    """
    file = directory / "header.json"
    if not file.exists():
        if wanted is None:
            raise NotFoundError(f"no index in {directory}: build one with `collegium run`")
        write_text(file, wanted.model_dump_json(indent=1))
        return wanted
    try:
        found = IndexHeader.model_validate_json(file.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise CorruptDataError(f"{file}: not an index header: {error}") from error
    if wanted is not None and wanted != found:
        raise InvalidInputError(
            f"{directory} was built with {found!r}, not {wanted!r}: use the same embedder and "
            "grammar, or another directory"
        )
    return found
