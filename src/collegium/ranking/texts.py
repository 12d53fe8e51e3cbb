"""Texts as bags: token sets, bigram sets and TF-IDF weights of the four parts of a key.

Twelve bags a text: for each part its tokens (lower-case, split at white space), its pairs of
neighbouring tokens, and its TF-IDF terms. A member of a bag is the 64-bit hash of bag and token, so
that one sorted look-up compares all bags of a query with those of all candidates; two different
tokens share a hash about once in 10^14 comparisons.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collegium.ranking.schema import PARTS

TOKENS, BIGRAMS, TERMS = range(3)
"""Kinds of bags; a bag is `len(PARTS) * kind + part`."""
_BAGS = 3 * len(PARTS)
_MAX_DF = 0.95
_SALTS = np.random.default_rng(44).integers(-(2**63), 2**63 - 1, _BAGS)
"""Keep the members of different bags apart."""
_SLOTS = 1 << 16


class Bags(NamedTuple):
    """All bags of one text."""

    keys: NDArray[np.int64]
    """One a member."""
    weights: NDArray[np.float64]
    """1 for tokens and bigrams; the weight in the normalised TF-IDF vector for terms."""
    sizes: NDArray[np.int64]
    """Members of each of the twelve bags, which follow each other."""


class Vectoriser(NamedTuple):
    """The TF-IDF weights of one part, as scikit-learn fitted them (formulas §2.2)."""

    vocabulary: tuple[str, ...]
    idf: NDArray[np.float64]
    """Of each term of the vocabulary."""


class TextAnalyser:
    """Makes bags; the same text gives the same bags in one process."""

    def __init__(self, vectorisers: Mapping[str, Vectoriser]) -> None:
        """Weigh terms by the vectorisers of the parts."""
        self._words = _word_analyser()
        self._idf = [
            dict(zip(vectorisers[part].vocabulary, vectorisers[part].idf.tolist(), strict=True))
            for part in PARTS
        ]

    def bags(self, texts: Sequence[str]) -> Bags:
        """Return the bags of one text given by its parts, in the order of `PARTS`."""
        tokens = [text.lower().split() for text in texts]
        terms = [self._terms(*one) for one in zip(self._idf, texts, strict=True)]
        bags: list[Collection[Any]] = [
            *(set(found) for found in tokens),
            *(set(pairwise(found)) for found in tokens),
            *terms,
        ]
        sizes = np.array([len(bag) for bag in bags])
        hashes = np.array([hash(member) for bag in bags for member in bag], np.int64)
        weights = np.ones(len(hashes))
        weights[sizes[: TERMS * len(PARTS)].sum() :] = [w for one in terms for w in one.values()]
        return Bags(hashes ^ np.repeat(_SALTS, sizes), weights, sizes)

    def _terms(self, idf: Mapping[str, float], text: str) -> dict[str, float]:
        """Return the TF-IDF vector of unit length, without terms outside the vocabulary."""
        counts = Counter(self._words(text))
        weights = {term: count * idf[term] for term, count in counts.items() if term in idf}
        norm = sum(weight * weight for weight in weights.values()) ** 0.5
        return {term: weight / norm for term, weight in weights.items()}


def overlaps(query: Bags, documents: Sequence[Bags]) -> NDArray[np.float64]:
    """Return for each document and bag the sum over common members of the product of weights.

    For tokens and bigrams that is the size of the intersection, for terms the cosine; the shape is
    (documents, 12).
    """
    if not len(query.keys):
        return np.zeros((len(documents), _BAGS))
    order = np.argsort(query.keys)
    asked, trust = query.keys[order], query.weights[order]
    keys = np.concatenate([document.keys for document in documents])
    members = _perhaps_among(asked, keys)
    place = np.minimum(np.searchsorted(asked, keys[members]), len(asked) - 1)
    same = asked[place] == keys[members]
    members, place = members[same], place[same]
    weights = np.concatenate([document.weights for document in documents])[members]
    ends = np.concatenate([document.sizes for document in documents]).cumsum()
    owner = np.searchsorted(ends, members, side="right")
    summed = np.bincount(owner, weights * trust[place], minlength=len(documents) * _BAGS)
    return summed.astype(np.float64).reshape(len(documents), _BAGS)


def _perhaps_among(asked: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the places of the keys that may be among `asked`: no other one is.

    A look-up by the lowest bits leaves few for the exact search, which takes longer for each.
    """
    seen = np.zeros(_SLOTS, np.bool_)
    seen[asked & (_SLOTS - 1)] = True
    return np.flatnonzero(seen[keys & (_SLOTS - 1)])


def fit_vectoriser(texts: Sequence[str]) -> Vectoriser:
    """Fit one part's vectoriser on the texts of an index; of few texts no term may be left."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = _word_analyser()
    frequency = Counter(word for text in texts for word in set(words(text)))
    if not any(count <= _MAX_DF * len(texts) for count in frequency.values()):
        return Vectoriser((), np.empty(0))
    fitted = TfidfVectorizer(strip_accents="unicode", min_df=1, max_df=_MAX_DF).fit(texts)
    return Vectoriser(
        tuple(fitted.get_feature_names_out().tolist()), np.asarray(fitted.idf_, np.float64)
    )


def _word_analyser() -> Callable[[str], list[str]]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    analyse: Callable[[str], list[str]] = TfidfVectorizer(strip_accents="unicode").build_analyzer()
    return analyse
