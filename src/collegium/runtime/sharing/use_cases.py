"""What `collegium push` and `collegium pull` do."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from collegium.core import InvalidInputError, Record
from collegium.runtime.sharing.collect import collect
from collegium.runtime.sharing.kinds import Kind
from collegium.store.bundles import Bundle, HubPlace, Place, Pushed, open_place, pull, push


class Pulled(Record):
    """What a pull left."""

    bundle: Bundle
    digest: str
    folder: str


def push_bundle(
    kind: Kind,
    source: str,
    address: str,
    *,
    tables: Sequence[str] = (),
    private: bool = True,
) -> Pushed:
    """Push an adapter, a model or the tables of a run.

    Args:
        kind: What `source` is.
        source: Name or folder of an adapter or a model, or a run directory.
        address: `hf://owner/name`, `hf://datasets/owner/name`, or a path of fsspec's.
        tables: Which tables of the run; all when empty.
        private: Whether a repository that this creates is for its owner alone.

    Raises:
        NotFoundError: `source`, or something that belongs to it, is not there.
        CorruptDataError: A file of it is not the one that its card or manifest names.
        InvalidInputError: The address is none, or holds something else.
        UnavailableError: The address cannot be reached.
    """
    if tables and kind is not Kind.TABLES:
        raise InvalidInputError(f"only a run has tables to choose from, not a {kind}")
    place = open_place(address, private=private)
    _expect_fit(kind, place)
    with tempfile.TemporaryDirectory() as scratch:
        collected = collect(kind, source, tables, Path(scratch))
        return push(place, kind, collected.name, collected.files)


def pull_bundle(address: str, folder: Path, digest: str | None = None) -> Pulled:
    """Pull a bundle into `folder`; raises as `collegium.store.bundles.pull` does."""
    bundle = pull(open_place(address), folder, digest)
    return Pulled(bundle=bundle, digest=bundle.digest, folder=str(folder))


def _expect_fit(kind: Kind, place: Place) -> None:
    """Keep data out of model repositories and models out of data sets: the hub shows neither."""
    wanted = "dataset" if kind is Kind.TABLES else "model"
    if isinstance(place, HubPlace) and place.repository_type != wanted:
        form = "hf://datasets/owner/name" if kind is Kind.TABLES else "hf://owner/name"
        raise InvalidInputError(f"{place.address}: the address for {kind} is {form}")
