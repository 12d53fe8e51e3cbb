"""E5-Base (768 dimensions), the paper's embedder, or any other sentence-transformers model."""

from collegium.embedding.sentence import SentenceEmbedder, load_model


def load_e5(
    model: str, device: str | None, max_tokens: int | None, batch_size: int
) -> SentenceEmbedder:
    """Load `model` (hub id or folder), fetching it from the hub when it is not in the cache."""
    loaded = load_model(model, device=device, max_tokens=max_tokens, local=False)
    return SentenceEmbedder(model.rstrip("/").rsplit("/", 1)[-1], loaded, batch_size)
