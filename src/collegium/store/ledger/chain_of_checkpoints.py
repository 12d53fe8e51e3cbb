"""Checking checkpoints against the key, each other and the anchor."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from collegium.core import CorruptDataError
from collegium.store.ledger.checkpoints import (
    Checkpoint,
    checkpoints,
    document_hash,
    read_anchor,
    signed_of,
)
from collegium.store.ledger.findings import Finding, FindingKind
from collegium.store.ledger.signing import KeyFolder, is_signed

_Row = Mapping[str, Any]


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
        rows = list(checkpoints(connection))
        if keys.has_key:
            self._take(rows, keys.key())
            self._compare_anchor(rows)
        elif rows or keys.has_anchor:
            self._find(
                f"no signing key at {keys.key_file}: {len(rows)} checkpoints cannot be checked, "
                "so nothing is vouched for; set COLLEGIUM_KEYS to the key's folder"
            )
        else:
            self.notes.append("nothing is signed yet: `collegium db checkpoint`")

    @property
    def newest(self) -> Checkpoint | None:
        """The newest one that holds."""
        return self.valid[-1] if self.valid else None

    def _take(self, rows: list[_Row], key: Ed25519PrivateKey) -> None:
        for number, row in enumerate(rows, 1):
            wrong = self._check(number, row, key)
            if wrong:
                self._find(f"checkpoint {number} {wrong}: it and those after it prove nothing")
                return

    def _check(self, number: int, row: _Row, key: Ed25519PrivateKey) -> str:
        """Take a checkpoint if it is right; return what is wrong otherwise."""
        signed = signed_of(row)
        if not is_signed(key, signed):
            return f"is not signed with the key in {self._keys.key_file}"
        one = Checkpoint.read(signed)
        if one.number != number:
            return "is missing"
        if (one.number, one.position) != (row["number"], row["position"]):
            return f"stands in the row of number {row['number']}, position {row['position']}"
        if one.ledger != self._ledger:
            return f"belongs to another ledger, {one.ledger}"
        if one.previous != (document_hash(self.valid[-1].signed) if self.valid else ""):
            return "does not continue the one before it"
        self.valid.append(one)
        return ""

    def _compare_anchor(self, rows: list[_Row]) -> None:
        try:
            anchor = read_anchor(self._keys)
        except CorruptDataError as error:
            self._find(str(error))
            return
        if anchor is not None:
            self.findings += self._against(anchor, rows)
        elif rows:
            self._find(
                f"no anchor is kept at {self._keys.anchor_file}, so an older copy would pass: "
                "restore it from its backup, or keep the newest one that is here: "
                "`collegium db checkpoint`"
            )

    def _against(self, anchor: Checkpoint, rows: list[_Row]) -> Iterator[Finding]:
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
        elif rows[anchor.number - 1]["document"] != anchor.signed.document:
            yield _other(
                f"checkpoint {anchor.number} is not the one that is kept beside the key: an older "
                "copy was put in place and written on"
            )

    def _find(self, detail: str) -> None:
        self.findings.append(Finding(kind=FindingKind.CHECKPOINT, detail=detail))


def _other(detail: str) -> Finding:
    return Finding(kind=FindingKind.OLDER_COPY, detail=detail)
