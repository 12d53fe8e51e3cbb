"""Addresses of files: `/folder`, `file:///folder`, `s3://bucket/folder`, whatever fsspec knows."""

from typing import Any

import fsspec

from collegium.core import InvalidInputError, MissingDependencyError


def locate(address: str, **options: Any) -> tuple[Any, str]:
    """Return the file system of `address`, and the path on it.

    Args:
        address: A path, or an address with a scheme.
        options: Of the file system.

    Raises:
        InvalidInputError: There is no such file system.
        MissingDependencyError: The package for it is not installed; the message names it.
    """
    try:
        fs, path = fsspec.core.url_to_fs(address, **options)
    except ImportError as error:
        raise MissingDependencyError(f"{address}: {error}") from None
    except ValueError as error:
        raise InvalidInputError(f"{address}: {error}") from None
    return fs, str(path)
