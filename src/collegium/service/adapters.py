"""The packaged adapters and what their cards say."""

from collegium.core import Record
from collegium.llm.adapters import AdapterCard, find_adapter, list_adapters, read_card


class AdapterList(Record):
    """Cards of all packaged adapters, sorted by name."""

    adapters: tuple[AdapterCard, ...]


def packaged_adapters() -> AdapterList:
    """Return the cards; raises NotFoundError or CorruptDataError for one not in order."""
    return AdapterList(adapters=tuple(read_card(find_adapter(name)) for name in list_adapters()))
