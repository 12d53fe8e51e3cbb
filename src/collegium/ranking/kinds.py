"""The rankers by kind: how each is trained, and how it is loaded."""

from collections.abc import Callable
from pathlib import Path

from collegium.core import CorruptDataError
from collegium.ranking.configs import (
    AnyRankerConfig,
    FFNConfig,
    LambdaMARTConfig,
    PersonalConfig,
    SVMRankConfig,
)
from collegium.ranking.ffn import fit_ffn, load_ffn
from collegium.ranking.groups import TrainingSet
from collegium.ranking.lambdamart import fit_lambdamart, load_lambdamart
from collegium.ranking.personal import fit_personal, load_personal
from collegium.ranking.protocol import Ranker
from collegium.ranking.svmrank import fit_svmrank, load_svmrank


def fit_ranker(config: AnyRankerConfig, data: TrainingSet, seed: int) -> Ranker:
    """Train the ranker that `config` describes; equal data and seed give equal scores.

    Raises:
        InvalidInputError: This machine has no such device.
    """
    match config:
        case LambdaMARTConfig():
            return fit_lambdamart(config, data, seed)
        case SVMRankConfig():
            return fit_svmrank(config, data, seed)
        case FFNConfig():
            return fit_ffn(config, data, seed)
        case PersonalConfig():
            return fit_personal(config, data, seed, fit_ranker)


def load_ranker(kind: str, folder: Path) -> Ranker:
    """Return the ranker of `kind` that was saved in `folder`.

    Raises:
        NotFoundError: A file is missing.
        CorruptDataError: A file cannot be read, or no ranker is of that kind.
    """
    known: dict[str, Callable[[Path], Ranker]] = {
        "ffn": load_ffn,
        "lambdamart": load_lambdamart,
        "personal": lambda place: load_personal(place, load_ranker),
        "svmrank": load_svmrank,
    }
    if kind not in known:
        raise CorruptDataError(
            f"{folder}: no ranker is of kind {kind!r}; known: {', '.join(known)}"
        )
    return known[kind](folder)
