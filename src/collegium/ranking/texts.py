"""Texts as bags: token sets, bigram sets and TF-IDF weights of the four parts of a key.

Twelve bags a text: for each part its tokens (lower-case, split at white space), its pairs of
neighbouring tokens, and its TF-IDF terms. A member of a bag is the 64-bit hash of bag and token, so
that one sorted look-up compares all bags of a query with those of all candidates; two different
tokens share a hash about once in 10^14 comparisons.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collegium.ranking.schema import PARTS

TOKENS, BIGRAMS, TERMS = range(3)
"""Kinds of bags; a bag is `len(PARTS) * kind + part`."""
_BAGS = 3 * len(PARTS)
_MAX_DF = 0.95


class Bags(NamedTuple):
    """All bags of one text, sorted by key."""

    keys: NDArray[np.int64]
    bags: NDArray[np.int8]
    """Bag of each key, 0 .. 11."""
    weights: NDArray[np.float64]
    """1 for tokens and bigrams; the weight in the normalised TF-IDF vector for terms."""
    sizes: NDArray[np.float64]
    """Members of each of the twelve bags."""


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
        members: dict[int, tuple[int, float]] = {}
        for part, text in enumerate(texts):
            tokens = text.lower().split()
            self._add(members, len(PARTS) * TOKENS + part, ((token, 1.0) for token in tokens))
            pairs = ((pair, 1.0) for pair in pairwise(tokens))
            self._add(members, len(PARTS) * BIGRAMS + part, pairs)
            terms = self._terms(self._idf[part], text)
            self._add(members, len(PARTS) * TERMS + part, terms.items())
        return _sorted(members)

    def _terms(self, idf: Mapping[str, float], text: str) -> dict[str, float]:
        """Return the TF-IDF vector of unit length, without terms outside the vocabulary."""
        counts = Counter(word for word in self._words(text) if word in idf)
        weights = {term: count * idf[term] for term, count in counts.items()}
        norm = sum(weight * weight for weight in weights.values()) ** 0.5
        return {term: weight / norm for term, weight in weights.items()}

    @staticmethod
    def _add(
        members: dict[int, tuple[int, float]], bag: int, weighted: Iterable[tuple[Any, float]]
    ) -> None:
        for token, weight in weighted:
            members[hash((bag, token))] = bag, weight


def overlaps(query: Bags, documents: Sequence[Bags]) -> NDArray[np.float64]:
    """Return for each document and bag the sum over common members of the product of weights.

    For tokens and bigrams that is the size of the intersection, for terms the cosine; the shape is
    (documents, 12).
    """
    if not len(query.keys):
        return np.zeros((len(documents), _BAGS))
    keys = np.concatenate([document.keys for document in documents])
    bags = np.concatenate([document.bags for document in documents])
    weights = np.concatenate([document.weights for document in documents])
    place = np.minimum(np.searchsorted(query.keys, keys), len(query.keys) - 1)
    common = np.where(query.keys[place] == keys, weights * query.weights[place], 0.0)
    owner = np.repeat(np.arange(len(documents)), [len(document.keys) for document in documents])
    summed = np.bincount(owner * _BAGS + bags, common, minlength=len(documents) * _BAGS)
    return summed.astype(np.float64).reshape(len(documents), _BAGS)


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


def _sorted(members: Mapping[int, tuple[int, float]]) -> Bags:
    keys = np.fromiter(members, np.int64, len(members))
    bags = np.fromiter((bag for bag, _ in members.values()), np.int8, len(members))
    weights = np.fromiter((weight for _, weight in members.values()), np.float64, len(members))
    order = np.argsort(keys)
    sizes = np.bincount(bags, minlength=_BAGS).astype(np.float64)
    return Bags(keys[order], bags[order], weights[order], sizes)
