"""What can be shared."""

from enum import StrEnum


class Kind(StrEnum):
    """What a bundle is."""

    ADAPTER = "adapter"
    """A LoRA adapter with its card."""
    MODEL = "model"
    """A checkpoint in safetensors with its tokenizer."""
    TABLES = "tables"
    """Tables of a finished run, label sets among them, with its configuration and summary."""
