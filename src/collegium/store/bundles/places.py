"""Where bundles are kept: the protocol, and any path that fsspec reads and writes."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from fsspec.implementations.local import LocalFileSystem

from collegium.core import (
    InvalidInputError,
    NotFoundError,
    UnavailableError,
)
from collegium.store.bundles.record import MANIFEST, Bundle
from collegium.store.files import write_whole
from collegium.store.paths import locate


class Place(Protocol):
    """One address that holds one bundle, or none."""

    address: str

    def read(self) -> Bundle | None:
        """Return the bundle that is there whole, if any.

        Raises:
            CorruptDataError: Its `bundle.json` cannot be read.
            UnavailableError: The place cannot be reached.
        """
        ...

    def fetch(self, name: str, to: Path) -> None:
        """Copy one file of the bundle that `read` returned to the local file `to`.

        Raises:
            NotFoundError: It is not there.
        """
        ...

    def put(self, bundle: Bundle, files: Mapping[str, Path]) -> str:
        """Store `bundle` with its local files, whole or not at all; return where it now is.

        Raises:
            InvalidInputError: The place holds something else that it must not lose.
        """
        ...


class PathPlace:
    """A folder on any file system that fsspec knows; it takes one bundle, once."""

    def __init__(self, address: str, **options: Any) -> None:
        """Name the folder, with options of its file system.

        Raises:
            InvalidInputError: fsspec knows no such file system.
            MissingDependencyError: It needs a package that is not installed.
        """
        self.address = address.rstrip("/")
        self._fs, self._root = locate(self.address, **options)

    def read(self) -> Bundle | None:
        """Return the bundle that is there whole, if any."""
        with _told(self.address):
            if not self._fs.exists(self._at(MANIFEST)):
                return None
            text = self._fs.cat_file(self._at(MANIFEST))
        return Bundle.parse(text, self.address)

    def fetch(self, name: str, to: Path) -> None:
        """Copy one file to the local file `to`."""
        to.parent.mkdir(parents=True, exist_ok=True)
        with _told(f"{self.address}/{name}"):
            self._fs.get_file(self._at(name), str(to))

    def put(self, bundle: Bundle, files: Mapping[str, Path]) -> str:
        """Store the files, then `bundle.json`; until that is there, there is no bundle."""
        self._refuse_others(bundle)
        with _told(self.address):
            for name, path in files.items():
                self._write(name, path)
            self._write_bytes(MANIFEST, bundle.model_dump_json(indent=1).encode())
        return self.address

    def _refuse_others(self, bundle: Bundle) -> None:
        """Raise InvalidInputError unless all that is there is left of the same push, cut short."""
        with _told(self.address):
            there = {path[len(self._root) :].strip("/") for path in self._fs.find(self._root)}
        visible = {name for name in there if not name.rpartition("/")[2].startswith(".")}
        if others := sorted(visible - set(bundle.files)):
            what = "another bundle" if MANIFEST in others else f"{others[0]}, no part of this one"
            raise InvalidInputError(f"{self.address} holds {what}: push to a folder of its own")

    def _write(self, name: str, path: Path) -> None:
        if isinstance(self._fs, LocalFileSystem):
            with path.open("rb") as source:
                write_whole(Path(self._at(name)), lambda out: shutil.copyfileobj(source, out))
        else:
            self._fs.makedirs(self._at(name).rpartition("/")[0], exist_ok=True)
            self._fs.put_file(str(path), self._at(name))

    def _write_bytes(self, name: str, data: bytes) -> None:
        if isinstance(self._fs, LocalFileSystem):
            write_whole(Path(self._at(name)), lambda out: out.write(data))
        else:
            self._fs.pipe_file(self._at(name), data)

    def _at(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"


@contextmanager
def _told(address: str) -> Iterator[None]:
    """Turn what file systems raise into errors that say what to do."""
    try:
        yield
    except FileNotFoundError:
        raise NotFoundError(f"{address} is not there: check the address, or push again") from None
    except OSError as error:
        raise UnavailableError(f"{address} cannot be read or written: {error}") from error
