"""The rankers by kind: their settings, how each is trained, and how it is loaded."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from collegium.core import CorruptDataError
from collegium.ranking.configs import FFNConfig, LambdaMARTConfig, SVMRankConfig
from collegium.ranking.groups import TrainingSet
from collegium.ranking.protocol import Ranker

RankerConfig = Annotated[LambdaMARTConfig | SVMRankConfig | FFNConfig, Field(discriminator="kind")]


def fit_ranker(
    config: LambdaMARTConfig | SVMRankConfig | FFNConfig, data: TrainingSet, seed: int
) -> Ranker:
    """Train the ranker that `config` describes; equal data and seed give equal scores.

    Raises:
        MissingDependencyError: The packages of the extra `ranking` are not installed.
    """
    match config:
        case LambdaMARTConfig():
            from collegium.ranking.lambdamart import fit_lambdamart

            return fit_lambdamart(config, data, seed)
        case SVMRankConfig():
            from collegium.ranking.svmrank import fit_svmrank

            return fit_svmrank(config, data, seed)
        case FFNConfig():
            from collegium.ranking.ffn import fit_ffn

            return fit_ffn(config, data, seed)


def load_ranker(kind: str, folder: Path) -> Ranker:
    """Return the ranker of `kind` that was saved in `folder`.

    Raises:
        CorruptDataError: Its files cannot be read, or no ranker is of that kind.
    """
    match kind:
        case "lambdamart":
            from collegium.ranking.lambdamart import load_lambdamart

            return load_lambdamart(folder)
        case "svmrank":
            from collegium.ranking.svmrank import load_svmrank

            return load_svmrank(folder)
        case "ffn":
            from collegium.ranking.ffn import load_ffn

            return load_ffn(folder)
        case _:
            raise CorruptDataError(
                f"{folder}: no ranker is of kind {kind!r}; known: ffn, lambdamart, svmrank"
            )
