"""LoRA adapters: the packaged ones, one folder each beside this file, and merging into a base.

A folder holds `adapter_model.safetensors` and `adapter_config.json` in PEFT's format, and
`card.json` with data, seed, command and measured success.
"""

from collegium.llm.adapters._find import find_adapter, list_adapters
from collegium.llm.adapters._merge import merged_checkpoint

__all__ = ["find_adapter", "list_adapters", "merged_checkpoint"]
