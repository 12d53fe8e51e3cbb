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
    tokens: list[int] = []
    lanes: list[int] = []
    anchors: list[int] = []
    positions: list[int] = []
    targets: list[tuple[int, int]] = []
    ends = [0]

    def put(pieces: Sequence[Piece], lane: int, anchor: int) -> None:
        previous = anchor - 1
        for piece in pieces:
            for token in tokenize(piece.text):
                if piece.train and previous >= 0:
                    targets.append((previous, len(tokens)))
                previous = len(tokens)
                position = positions[anchor - 1] + 1 if anchor and lane else 0
                own = len(tokens) - start
                positions.append(position + own if lane else own)
                tokens.append(token)
                lanes.append(lane)
                anchors.append(anchor)
            if lane == 0:
                ends.append(len(tokens))

    start = 0
    put(example.trunk, 0, 0)
    for number, branch in enumerate(example.branches, 1):
        start = len(tokens)
        put(branch.pieces, number, ends[branch.after])
    return Encoded(
        np.array(tokens, np.int64),
        np.array(positions, np.int64),
        np.array(lanes, np.int64),
        np.array(anchors, np.int64),
        np.array(targets, np.int64).reshape(-1, 2),
    )
