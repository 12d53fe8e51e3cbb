"""Recorded completions, keyed by the content of the request.

A recording is a folder with one text file an engine: a header line with its version and model, then
one completion a line. Equal requests have one completion, the first; sampled requests that should
differ carry a seed, and those for other adapters name these. A last line cut off by a kill is
dropped, and that completion is made again.
"""

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from collegium.core import CorruptDataError, EngineError, InvalidInputError, Record, content_id
from collegium.llm.protocol import Completion, Engine, Request
from collegium.store.files import write_text

_VERSION = 1

R = TypeVar("R", bound=Record)


class _Header(Record):
    schema_version: int
    model: str


class _Entry(Record):
    key: str
    request: Request
    completion: Completion


class RecordingEngine:
    """Passes requests on to `inner` and writes down what it answers; resumes a recording."""

    def __init__(self, inner: Engine, path: str | Path) -> None:
        """Start or continue the recording at `path`.

        Raises:
            InvalidInputError: The recording is of another model.
            CorruptDataError: The file is not a recording.
        """
        self.model = inner.model
        self._inner = inner
        self._path = Path(path)
        self._completions: dict[str, Completion] = {}
        if self._path.exists():
            recorded, self._completions, whole = _read(self._path)
            if recorded != self.model:
                raise InvalidInputError(
                    f"{path} records {recorded!r}, not {self.model!r}: record to another file"
                )
            with self._path.open("r+b") as file:
                file.truncate(whole)
        else:
            header = _Header(schema_version=_VERSION, model=self.model)
            write_text(self._path, header.model_dump_json() + "\n")

    async def complete(self, request: Request) -> Completion:
        """Answer from the recording, or from the inner engine and record it."""
        key = content_id(request)
        if key not in self._completions:
            completion = await self._inner.complete(request)
            if key not in self._completions:
                self._completions[key] = completion
                self._append(_Entry(key=key, request=request, completion=completion))
        return self._completions[key]

    async def close(self) -> None:
        """Close the inner engine."""
        await self._inner.close()

    def _append(self, entry: _Entry) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(entry.model_dump_json() + "\n")


class ReplayEngine:
    """Answers from a recording only."""

    def __init__(self, path: str | Path) -> None:
        """Read a recording: all files of a folder, or one file.

        Raises:
            EngineError: There is none.
            CorruptDataError: A file is not a recording.
        """
        self._path = Path(path).expanduser()
        files = sorted(self._path.glob("*.jsonl")) if self._path.is_dir() else [self._path]
        if not files or not self._path.exists():
            raise EngineError(f"no recording {path}: make one by a run with `engine.record` set")
        self._completions: dict[str, Completion] = {}
        models = []
        for file in files:
            model, completions, _ = _read(file)
            self._completions = completions | self._completions
            models.append(model)
        self.model = ", ".join(dict.fromkeys(models))

    async def complete(self, request: Request) -> Completion:
        """Return the recorded completion; raises EngineError if there is none."""
        key = content_id(request)
        if key not in self._completions:
            raise EngineError(
                f"{self._path} holds no completion for request {key}: record this run again with "
                "the engine it was made with"
            )
        return self._completions[key]

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""


def _read(path: Path) -> tuple[str, dict[str, Completion], int]:
    """Return the model, the completions by key, and how many bytes of the file are whole lines."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    first, *rest = data[:whole].decode().removesuffix("\n").split("\n")
    header = _parse(_Header, first, path, 1)
    if header.schema_version != _VERSION:
        raise CorruptDataError(
            f"{path} has recording version {header.schema_version}, this is {_VERSION}: "
            "record it again"
        )
    completions: dict[str, Completion] = {}
    for number, line in enumerate(rest, start=2):
        entry = _parse(_Entry, line, path, number)
        completions.setdefault(entry.key, entry.completion)
    return header.model, completions, whole


def _parse(model: type[R], line: str, path: Path, number: int) -> R:
    try:
        return model.model_validate_json(line)
    except ValidationError as error:
        raise CorruptDataError(f"{path}, line {number}: not a recording: {error}") from None
