"""Bundles in repositories of the Hugging Face hub.

An address is `hf://owner/name` for a model, `hf://datasets/owner/name` for a data set, either with
`@revision`. A push is one commit, so a revision holds a whole bundle; earlier ones stay in the
history. Reading is pinned to the commit that was current when the bundle was read.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from collegium.core import (
    InvalidInputError,
    MissingDependencyError,
    NotFoundError,
    UnavailableError,
)
from collegium.store.bundles.places import PathPlace
from collegium.store.bundles.record import MANIFEST, Bundle

SCHEME = "hf://"

_ADDRESS = re.compile(
    r"hf://(?P<dataset>datasets/)?(?P<id>(?!(?:datasets|spaces|models|buckets)/)[\w.-]+/[\w.-]+)"
    r"(?:@(?P<revision>[\w./-]+))?"
)
_LOGIN = "check the address; for what is private, `hf auth login` or the variable HF_TOKEN"


class HubPlace:
    """A repository; it takes any number of bundles, one after the other."""

    def __init__(self, address: str, *, private: bool = True, endpoint: str | None = None) -> None:
        """Name the repository.

        Args:
            address: As above.
            private: Whether a repository that a push creates is for its owner alone.
            endpoint: The hub; by default what `HF_ENDPOINT` names.

        Raises:
            InvalidInputError: The address names no repository.
            MissingDependencyError: huggingface_hub is not installed.
        """
        self.address = address
        self._private = private
        self._endpoint = endpoint
        self._id, self._revision = _parse(address).group("id", "revision")
        self._client = _client()
        self._pinned: PathPlace | None = None

    @property
    def repository_type(self) -> str:
        """`model` or `dataset`."""
        return "dataset" if self.address.startswith(f"{SCHEME}datasets/") else "model"

    def read(self) -> Bundle | None:
        """Return the bundle of the revision, if any."""
        from huggingface_hub.errors import RepositoryNotFoundError

        try:
            commit = self._commit()
        except RepositoryNotFoundError:
            return None
        kind = "datasets/" if self.repository_type == "dataset" else ""
        pinned = f"{SCHEME}{kind}{self._id}@{commit}"
        self._pinned = PathPlace(pinned, endpoint=self._endpoint, skip_instance_cache=True)
        with _told(self.address):
            return self._pinned.read()

    def fetch(self, name: str, to: Path) -> None:
        """Copy one file of the bundle that was read to the local file `to`."""
        if self._pinned is None:
            raise NotFoundError(f"{self.address} holds no bundle: push one first")
        with _told(self.address):
            self._pinned.fetch(name, to)

    def put(self, bundle: Bundle, files: Mapping[str, Path]) -> str:
        """Commit the bundle with its files, and without those of the one before."""
        before = self.read()
        contents: dict[str, str | Path | bytes] = dict(files)
        contents[MANIFEST] = bundle.model_dump_json(indent=1).encode()
        gone = set(before.files) - set(files) if before else set()
        add, delete = self._client.CommitOperationAdd, self._client.CommitOperationDelete
        operations = [
            *(add(name, content) for name, content in contents.items()),
            *(delete(name) for name in sorted(gone)),
        ]
        with _told(self.address):
            self._create()
            commit = self._api.create_commit(
                self._id,
                operations,
                commit_message=f"Push {bundle.kind} {bundle.name} {bundle.digest[:12]}",
                repo_type=self.repository_type,
                revision=self._revision,
            )
        return f"{self.address.partition('@')[0]}@{commit.oid}"

    @property
    def _api(self) -> Any:
        return self._client.HfApi(endpoint=self._endpoint)

    def _commit(self) -> str:
        """Return the commit that the revision names now; raises RepositoryNotFoundError."""
        from huggingface_hub.errors import RepositoryNotFoundError

        with _told(self.address, but=RepositoryNotFoundError):
            info = self._api.repo_info(
                self._id, repo_type=self.repository_type, revision=self._revision
            )
        return str(info.sha)

    def _create(self) -> None:
        self._api.create_repo(
            self._id, repo_type=self.repository_type, private=self._private, exist_ok=True
        )


def _parse(address: str) -> re.Match[str]:
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise InvalidInputError(
            f"{address} names no repository: write hf://owner/name for a model or "
            "hf://datasets/owner/name for a data set, either with @revision"
        )
    return match


def _client() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise MissingDependencyError(
            "hf:// addresses need huggingface_hub: pip install 'collegium[hub]'"
        ) from None
    return huggingface_hub


@contextmanager
def _told(address: str, but: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Turn what the hub's client raises into errors that say what to do."""
    from huggingface_hub.errors import HfHubHTTPError

    of_its_http_library_and_os_error = cast("tuple[type[Exception], ...]", HfHubHTTPError.__bases__)
    try:
        yield
    except but:
        raise
    except HfHubHTTPError as error:
        raise NotFoundError(f"{address}: {_LOGIN} ({error})") from error
    except of_its_http_library_and_os_error as error:
        raise UnavailableError(f"{address} cannot be reached: {error}") from error
