"""Training examples shaped like a tree: one trunk, and side branches that the trunk never sees.

The trunk is an episode's transcript. A branch stands at one place of the trunk and holds what is
in the prompt at that step only (guidance, then the action): it sees the trunk up to its place and
itself. So one pass trains both ways of acting, with and without guidance, at the price of the
trunk plus the branches, and with the very prompts that acting uses.

Loss falls on the tokens marked `train`; positions in a branch go on from its place.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Piece(NamedTuple):
    """A stretch of text; the model is trained to write it if `train`."""

    text: str
    train: bool = False


class Branch(NamedTuple):
    """Pieces seen only at one place: after the first `after` pieces of the trunk."""

    after: int
    pieces: tuple[Piece, ...]


class Example(NamedTuple):
    """One tree."""

    trunk: tuple[Piece, ...]
    branches: tuple[Branch, ...] = ()


@dataclass(frozen=True, slots=True)
class Encoded:
    """A tree as arrays over its N tokens, trunk first, then the branches in order.

    `anchor[i]` is how many trunk tokens token i sees if it is in a branch; `lane[i]` is 0 in the
    trunk and the branch's number (from 1) in a branch. `targets` are pairs (i, j): the token at j
    is to be predicted from the state at i.
    """

    tokens: NDArray[np.int64]
    positions: NDArray[np.int64]
    lane: NDArray[np.int64]
    anchor: NDArray[np.int64]
    targets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.tokens)

    def visible(self) -> NDArray[np.bool_]:
        """Return an (N, N) array: may token i (row) see token j (column)?"""
        index = np.arange(len(self))
        causal = index[None, :] <= index[:, None]
        same_lane = self.lane[None, :] == self.lane[:, None]
        trunk_before = (self.lane[None, :] == 0) & (index[None, :] < self.anchor[:, None])
        seen: NDArray[np.bool_] = causal & (same_lane | trunk_before)
        return seen


def encode(example: Example, tokenize: Callable[[str], Sequence[int]]) -> Encoded:
    """Return the tree's arrays; pieces are tokenised one by one, so they must end at a newline."""
    writer = _Writer(tokenize)
    ends = [0, *writer.put(example.trunk, lane=0, anchor=0)]
    for number, branch in enumerate(example.branches, 1):
        writer.put(branch.pieces, lane=number, anchor=ends[branch.after])
    return writer.written()


class _Writer:
    """Writes one lane of a tree after the other."""

    def __init__(self, tokenize: Callable[[str], Sequence[int]]) -> None:
        self._tokenize = tokenize
        self._tokens: list[int] = []
        self._positions: list[int] = []
        self._lanes: list[int] = []
        self._anchors: list[int] = []
        self._targets: list[tuple[int, int]] = []

    def put(self, pieces: Sequence[Piece], *, lane: int, anchor: int) -> list[int]:
        """Write a lane that goes on after `anchor` trunk tokens; return where its pieces end."""
        start = len(self._tokens)
        ends = []
        for piece in pieces:
            for token in self._tokenize(piece.text):
                here = len(self._tokens)
                before = here - 1 if here > start else anchor - 1
                if piece.train and before >= 0:
                    self._targets.append((before, here))
                self._tokens.append(token)
                self._positions.append(anchor + here - start)
            ends.append(len(self._tokens))
        self._lanes += [lane] * (len(self._tokens) - start)
        self._anchors += [anchor] * (len(self._tokens) - start)
        return ends

    def written(self) -> Encoded:
        """Return the arrays."""
        return Encoded(
            np.array(self._tokens, np.int64),
            np.array(self._positions, np.int64),
            np.array(self._lanes, np.int64),
            np.array(self._anchors, np.int64),
            np.array(self._targets, np.int64).reshape(-1, 2),
        )
