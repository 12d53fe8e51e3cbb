"""What the sentence-transformers backends share: loading, the name, one call of the model.

Texts are embedded as they are, without a prompt prefix (formulas §2.1). Rounding may differ in the
last bits with the texts that share a batch; a cache in front keeps the first vector of each text.
"""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from collegium.core import MissingDependencyError, NotFoundError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


class SentenceEmbedder:
    """An `Embedder` around one loaded sentence-transformers model."""

    def __init__(self, label: str, model: "SentenceTransformer", batch_size: int) -> None:
        """Wrap `model`; the name holds `label`, its weights' digest, token limit and type."""
        import torch

        rounded = "" if model.dtype == torch.float32 else f":{str(model.dtype).split('.')[1]}"
        self.name = f"{label}@{_weights_digest(model)}:{model.max_seq_length}{rounded}"
        self.dimension = int(model.get_embedding_dimension())
        self._model = model
        self._batch_size = batch_size

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed`."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        vectors = self._model.encode(
            list(texts),
            batch_size=self._batch_size,
            show_progress_bar=False,
            convert_to_tensor=True,
        )
        return np.ascontiguousarray(vectors.float().cpu().numpy())


def load_model(
    source: str, *, device: str | None, max_tokens: int | None, local: bool, bfloat16: bool = False
) -> "SentenceTransformer":
    """Load a sentence-transformers model for inference.

    Args:
        source: Hub id or folder.
        device: Torch device; the library's choice when None.
        max_tokens: Longest text, in tokens; the rest is cut off. The model's own limit when None
            or when that is lower.
        local: Never ask the hub.
        bfloat16: Compute in bfloat16.

    Raises:
        MissingDependencyError: sentence-transformers is not installed.
        NotFoundError: The model cannot be found or fetched.
    """
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging
    except ImportError as error:
        raise MissingDependencyError(
            "sentence-transformers is not installed: pip install 'collegium[embedding]'"
        ) from error
    logging.disable_progress_bar()
    try:
        model = SentenceTransformer(source, device=device, local_files_only=local)
    except (OSError, ValueError) as error:
        raise NotFoundError(
            f"cannot load embedding model {source!r} ({error}): give a folder that holds it, "
            "or use the packaged one (kind: minilm)"
        ) from error
    if max_tokens is not None:
        model.max_seq_length = min(max_tokens, model.max_seq_length or max_tokens)
    return model.bfloat16() if bfloat16 else model


def _weights_digest(model: "SentenceTransformer") -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:12]
