"""LoRA adapters: the packaged ones, one folder each beside this file, and merging into a base.

A folder holds `adapter_model.safetensors` and `adapter_config.json` in PEFT's format, and
`card.json` with data, seed, command and measured success (`AdapterCard`). `index.txt` names the
folders, so that one that goes missing is missed.
"""

from collegium.llm.adapters._card import AdapterCard, read_card, verify_adapter, write_card
from collegium.llm.adapters._find import find_adapter, list_adapters, shipped_adapters
from collegium.llm.adapters._merge import merged_checkpoint

__all__ = [
    "AdapterCard",
    "find_adapter",
    "list_adapters",
    "merged_checkpoint",
    "read_card",
    "shipped_adapters",
    "verify_adapter",
    "write_card",
]
