"""Constrained choice as a trie over token ids, far cheaper than compiling a grammar a request.

A choice is allowed token by token, and it is decided as soon as one choice is left: the tokens of
its unique tail are never generated. Where one choice is the beginning of another ("drawer 1",
"drawer 12"), a terminal token (end of sequence or stop) decides for the shorter one.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from collegium.core import InvalidInputError

TokenIds = tuple[int, ...]

_CACHED_TEXTS = 100_000


class ChoiceEncoder:
    """Tokenises choices; texts seen before cost a look-up."""

    def __init__(self, encode: Callable[[str], Sequence[int]]) -> None:
        """Use `encode`, which adds no special tokens, for texts not seen before."""
        self._encode = lru_cache(_CACHED_TEXTS)(lambda text: tuple(encode(text)))

    def paths(self, choices: Iterable[str]) -> list[TokenIds]:
        """Return the token ids of each choice, in order."""
        return [self._encode(choice) for choice in choices]


class Options(NamedTuple):
    """What may follow a path: continuing tokens, and whether it may end here."""

    tokens: tuple[int, ...]
    may_end: bool


class _Node:
    """The paths through one point: how many, one of them, and the one that ends here (or None)."""

    __slots__ = ("children", "count", "ends", "last")

    def __init__(self) -> None:
        self.children: dict[int, _Node] = {}
        self.count = 0
        self.last = 0
        self.ends: int | None = None


class ChoiceCursor:
    """A place in the trie of one request's choices; moves forward with each generated token."""

    def __init__(self, paths: Sequence[TokenIds]) -> None:
        """Build the trie and stand before the first token.

        Raises:
            InvalidInputError: There is no choice, or two choices are the same tokens.
        """
        if not paths:
            raise InvalidInputError("a request with `choices` needs at least one choice")
        self._node = _Node()
        self._ended = False
        for index, path in enumerate(paths):
            _add(self._node, index, path)

    def advance(self, tokens: Iterable[int]) -> None:
        """Move along `tokens`; one that no remaining choice continues with ends the path."""
        for token in tokens:
            child = None if self._ended else self._node.children.get(token)
            if child is None:
                self._ended = True
                return
            self._node = child

    @property
    def options(self) -> Options:
        """What may follow; nothing once the path has ended."""
        if self._ended:
            return Options((), may_end=True)
        return Options(tuple(self._node.children), may_end=self._node.ends is not None)

    @property
    def decided(self) -> int | None:
        """Index of the choice made, or None while several remain or if the path left them all."""
        if self._ended:
            return self._node.ends
        return self._node.last if self._node.count == 1 else None


def _add(root: _Node, index: int, path: TokenIds) -> None:
    node = root
    for token in (None, *path):
        if token is not None:
            node = node.children.setdefault(token, _Node())
        node.count += 1
        node.last = index
    if node.ends is not None:
        raise InvalidInputError(f"choices {node.ends} and {index} (from 0) are the same text")
    node.ends = index
