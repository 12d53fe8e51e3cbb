"""Checking checkpoints against the key, each other and the anchor."""

from collections.abc import Iterator
from uuid import UUID

import sqlalchemy as sa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from collegium.core import CorruptDataError
from collegium.store.ledger.checkpoints import Checkpoint, checkpoints, document_hash, signed_of
from collegium.store.ledger.findings import Finding, FindingKind
from collegium.store.ledger.signing import KeyFolder, Signed, is_signed


class CheckedCheckpoints:
    """The checkpoints of a database: which hold, and what is wrong with the others."""

    def __init__(self, connection: sa.Connection, keys: KeyFolder, ledger: UUID) -> None:
        """Read and check all checkpoints; those after a wrong one prove nothing any more."""
        self.valid: list[Checkpoint] = []
        self.findings: list[Finding] = []
        self.notes: list[str] = []
        self._ledger = ledger
        self._keys = keys
        self._positions = 0
        rows = [signed_of(row) for row in checkpoints(connection)]
        if not keys.has_key:
            self.notes.append(_no_key(keys, len(rows)))
            return
        self._take(rows, keys.key())
        self._compare_anchor(rows)

    @property
    def newest(self) -> Checkpoint | None:
        """The newest one that holds."""
        return self.valid[-1] if self.valid else None

    def _take(self, rows: list[Signed], key: Ed25519PrivateKey) -> None:
        for number, signed in enumerate(rows, 1):
            wrong = self._check(number, signed, key)
            if wrong:
                self._find(f"checkpoint {number} {wrong}: it and those after it prove nothing")
                return

    def _check(self, number: int, signed: Signed, key: Ed25519PrivateKey) -> str:
        """Take a checkpoint if it is right; return what is wrong otherwise."""
        if not is_signed(key, signed):
            return f"is not signed with the key in {self._keys.key_file}"
        one = Checkpoint.read(signed)
        if one.number != number:
            return "is missing"
        if one.ledger != self._ledger:
            return f"belongs to another ledger, {one.ledger}"
        if one.previous != (document_hash(self.valid[-1].signed) if self.valid else ""):
            return "does not continue the one before it"
        self.valid.append(one)
        return ""

    def _compare_anchor(self, rows: list[Signed]) -> None:
        try:
            kept = self._keys.anchor()
        except CorruptDataError as error:
            self._find(str(error))
            return
        if kept is None:
            if rows:
                self.notes.append("no anchor is kept beside the key: an older copy would pass")
            return
        self.findings += self._against(Checkpoint.read(kept), rows)

    def _against(self, anchor: Checkpoint, rows: list[Signed]) -> Iterator[Finding]:
        if anchor.ledger != self._ledger:
            yield _other(f"the anchor is of another ledger, {anchor.ledger}")
        elif anchor.number > len(rows):
            have = self.newest.position if self.newest else 0
            yield Finding(
                kind=FindingKind.OLDER_COPY,
                detail=f"this is an older copy: it has {len(rows)} checkpoints, up to position "
                f"{have}, but checkpoint {anchor.number} was signed at position "
                f"{anchor.position}; events {have + 1} … {anchor.position} may be lost",
                position=have + 1,
                last_position=anchor.position,
            )
        elif rows[anchor.number - 1].document != anchor.signed.document:
            yield _other(
                f"checkpoint {anchor.number} is not the one that is kept beside the key: an older "
                "copy was put in place and written on"
            )

    def _find(self, detail: str) -> None:
        self.findings.append(Finding(kind=FindingKind.CHECKPOINT, detail=detail))


def _other(detail: str) -> Finding:
    return Finding(kind=FindingKind.OLDER_COPY, detail=detail)


def _no_key(keys: KeyFolder, checkpoints: int) -> str:
    if not checkpoints:
        return "nothing is signed yet: `collegium db checkpoint`"
    return (
        f"no signing key at {keys.key_file}: {checkpoints} checkpoints cannot be checked, so "
        "nothing is vouched for; set COLLEGIUM_KEYS to the key's folder"
    )
