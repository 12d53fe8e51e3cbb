"""Pushing and pulling: nothing half, nothing unchecked, nothing twice."""

import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path

from collegium.core import ConfigError, CorruptDataError, InvalidInputError, NotFoundError, Record
from collegium.store.bundles.hub import SCHEME, HubPlace
from collegium.store.bundles.places import PathPlace, Place
from collegium.store.bundles.record import MANIFEST, Bundle


class Pushed(Record):
    """What a push left."""

    bundle: Bundle
    address: str
    """Where it is; on a hub with the commit, so that it can be pulled again as it is."""
    digest: str
    """Of the bundle: what a pull may ask for."""
    new: bool
    """False where the same bundle was there already."""


def open_place(address: str, *, private: bool = True) -> Place:
    """Return the place at `address`: a repository for `hf://…`, else a path of fsspec's.

    Args:
        address: The address.
        private: Whether a repository that a push creates is for its owner alone.

    Raises:
        InvalidInputError: It is no address.
        MissingDependencyError: It needs a package that is not installed.
    """
    if address.startswith(SCHEME):
        return HubPlace(address, private=private)
    return PathPlace(address)


def push(place: Place, kind: str, name: str, files: Mapping[str, Path]) -> Pushed:
    """Store local files as one bundle, unless the same one is there.

    Raises:
        InvalidInputError: The place holds something else, or a file cannot be named.
        UnavailableError: The place cannot be reached.
    """
    bundle = Bundle.of(kind, name, files)
    there = place.read()
    new = there is None or there.digest != bundle.digest
    address = place.put(bundle, files) if new else place.address
    return Pushed(bundle=bundle, address=address, digest=bundle.digest, new=new)


def pull(place: Place, folder: Path, digest: str | None = None) -> Bundle:
    """Copy the bundle at `place` into `folder`, which appears whole and checked, or not at all.

    Args:
        place: Where it is.
        folder: Must not exist or be empty, unless it holds this very bundle.
        digest: The bundle's digest, if no other bundle will do.

    Raises:
        NotFoundError: There is no bundle.
        CorruptDataError: A file is not the one that `bundle.json` names, or the digest is another.
        InvalidInputError: `folder` holds something else.
        ConfigError: `folder` cannot be written.
    """
    bundle = place.read()
    if bundle is None:
        raise NotFoundError(
            f"{place.address} holds no bundle: check the address; if it is private, log in; if a "
            "push was cut short, push again"
        )
    if digest is not None and digest != bundle.digest:
        raise CorruptDataError(f"{place.address} holds bundle {bundle.digest}, not {digest}")
    if folder.exists() and not _is_empty(folder):
        _expect_same(bundle, folder)
    else:
        _copy(place, bundle, folder)
    return bundle


def _copy(place: Place, bundle: Bundle, folder: Path) -> None:
    fresh = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    try:
        fresh.mkdir(parents=True)
        for name in bundle.files:
            place.fetch(name, fresh / name)
        bundle.check(fresh, place.address)
        (fresh / MANIFEST).write_text(bundle.model_dump_json(indent=1), encoding="utf-8")
        fresh.rename(folder)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written ({error.strerror})") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _expect_same(bundle: Bundle, folder: Path) -> None:
    file = folder / MANIFEST
    there = Bundle.parse(file.read_bytes(), str(folder)) if file.is_file() else None
    if there is None or there.digest != bundle.digest:
        raise InvalidInputError(f"{folder} holds something else: pull into a folder of its own")
    bundle.check(folder, str(folder))
