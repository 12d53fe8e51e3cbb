"""The key that signs checkpoints, and the anchor: the newest checkpoint, kept beside the key.

Both lie in a folder outside the database, of one ledger. Whoever can change the database but not
this folder can neither forge a checkpoint nor put an older copy of the database in place unseen.
Back the folder up apart from the database.
"""

import fcntl
import hashlib
import json
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from collegium.core import ConfigError, CorruptDataError, NotFoundError, Record

_PRIVATE = 0o600


class Signed(Record):
    """A checkpoint's document with its signature."""

    document: str
    signature: str
    """Ed25519, in hex."""


class KeyFolder:
    """The signing key and the anchor of one ledger."""

    def __init__(self, folder: Path) -> None:
        """Read and write under `folder`, which is made when a key is."""
        self.folder = folder
        self.key_file = folder / "ledger.key"
        self.anchor_file = folder / "anchor.json"

    @property
    def has_key(self) -> bool:
        """Whether the key is there."""
        return self.key_file.exists()

    @property
    def has_anchor(self) -> bool:
        """Whether an anchor is there."""
        return self.anchor_file.exists()

    def key(self, *, create: bool = False) -> Ed25519PrivateKey:
        """Return the key; made (Ed25519, mode 0600) if it is not there and `create` says so.

        Raises:
            NotFoundError: It is not there.
            ConfigError: Others may read it, or it cannot be written.
            CorruptDataError: It is no Ed25519 key.
        """
        if not self.has_key:
            if not create:
                raise NotFoundError(
                    f"no signing key at {self.key_file}: restore it from its backup, or set "
                    "COLLEGIUM_KEYS to its folder"
                )
            self._create()
        mode = stat.S_IMODE(self.key_file.stat().st_mode)
        if mode & 0o077:
            raise ConfigError(
                f"{self.key_file} has mode {mode:04o}, so others reach the signing key: "
                f"chmod 600 {self.key_file}"
            )
        return self._load()

    def anchor(self) -> Signed | None:
        """Return the newest checkpoint that was signed here, None before the first.

        Raises:
            CorruptDataError: The file is damaged.
        """
        if not self.has_anchor:
            return None
        try:
            return Signed.model_validate_json(self.anchor_file.read_text(encoding="utf-8"))
        except ValueError:
            raise CorruptDataError(
                f"{self.anchor_file} is damaged: restore it from its backup, or move it away and "
                "keep the newest one that the database has: `collegium db checkpoint`"
            ) from None

    def set_anchor(self, signed: Signed, number: int) -> None:
        """Keep checkpoint `number` as the anchor, unless a newer one is kept already."""
        with self._locked():
            kept = self.anchor()
            if kept is not None and json.loads(kept.document)["number"] > number:
                return
            raw = self.anchor_file.with_suffix(".new")
            _write(raw, signed.model_dump_json().encode(), os.O_TRUNC)
            raw.rename(self.anchor_file)

    def drop_anchor(self) -> Path | None:
        """Put the anchor aside, under a name of its own; returns where it is now."""
        kept = self.anchor()
        if kept is None:
            return None
        name = hashlib.sha256(kept.document.encode()).hexdigest()[:12]
        return self.anchor_file.rename(self.folder / f"anchor-{name}.json")

    def _create(self) -> None:
        pem = Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._put_key(pem)
        except FileExistsError:
            return  # another process was faster, and its key is the key
        except OSError as error:
            raise ConfigError(
                f"the signing key cannot be written to {self.folder} ({error.strerror}): set "
                "COLLEGIUM_KEYS to a folder of your own"
            ) from None

    def _put_key(self, pem: bytes) -> None:
        """Make the key appear whole, and never in the place of another."""
        raw = self.key_file.with_name(f".{self.key_file.name}.{uuid.uuid4().hex}")
        try:
            _write(raw, pem, os.O_EXCL)
            os.link(raw, self.key_file)
        finally:
            raw.unlink(missing_ok=True)

    def _load(self) -> Ed25519PrivateKey:
        try:
            key = serialization.load_pem_private_key(self.key_file.read_bytes(), None)
        except ValueError as error:
            raise CorruptDataError(
                f"{self.key_file} holds no key ({error}): restore it from its backup"
            ) from None
        if not isinstance(key, Ed25519PrivateKey):
            raise CorruptDataError(
                f"{self.key_file} holds no Ed25519 key: restore it from its backup"
            )
        return key

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self.key_file.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def fingerprint(key: Ed25519PrivateKey) -> str:
    """Return 16 hex digits that name the public key."""
    return hashlib.sha256(key.public_key().public_bytes_raw()).hexdigest()[:16]


def sign(key: Ed25519PrivateKey, document: str) -> Signed:
    """Return the document with its signature."""
    return Signed(document=document, signature=key.sign(document.encode()).hex())


def is_signed(key: Ed25519PrivateKey, signed: Signed) -> bool:
    """Return whether the signature is the key's."""
    try:
        key.public_key().verify(bytes.fromhex(signed.signature), signed.document.encode())
    except (InvalidSignature, ValueError):
        return False
    return True


def _write(path: Path, data: bytes, flags: int) -> None:
    """Write a file for the owner only, and wait until it is on the disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | flags, _PRIVATE)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
