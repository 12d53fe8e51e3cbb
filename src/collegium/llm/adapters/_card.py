"""What an adapter says about itself, and whether its files are still the ones it speaks of."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from collegium.core import CorruptDataError, NotFoundError, Record
from collegium.llm._cache import file_digest
from collegium.llm.adapters._find import CONFIG, WEIGHTS
from collegium.store.files import write_text

CARD = "card.json"


class AdapterCard(Record):
    """The content of `card.json`."""

    schema_version: Literal[1] = 1
    name: str
    base_model: str
    """Model the adapter belongs to."""
    data: str
    """What it was trained on, in words."""
    seed: int
    command: str = ""
    """What made it."""
    config_digest: str = ""
    """Of the configuration of the run that made it."""
    curriculum: dict[str, Any] = Field(default_factory=dict)
    """How its examples were chosen, such as task types and share with guidance."""
    training: dict[str, Any] = Field(default_factory=dict)
    """How it learned, such as rank and learning rate."""
    games_set_aside: int = 0
    """Train games kept out of its training, for measuring."""
    tokens: int = 0
    """Tokens it was trained on."""
    final_loss: float | None = None
    benchmarks: dict[str, float] = Field(default_factory=dict)
    """Measured success on the games set aside, over all and per task type, in [0, 1]."""
    files: dict[str, str]
    """SHA-256 of each file by its name."""


def write_card(folder: Path, **about: Any) -> AdapterCard:
    """Write the card of the adapter in `folder`, with the digests of its files, and return it.

    It appears whole, and is written last: an adapter that has a card is finished.

    Args:
        folder: Holds the adapter in PEFT's format.
        about: Fields of `AdapterCard`; the name is the folder's unless given.
    """
    digests = {name: file_digest(folder / name) for name in (WEIGHTS, CONFIG)}
    card = AdapterCard(**{"name": folder.name, **about, "files": digests})
    write_text(folder / CARD, card.model_dump_json(indent=1) + "\n")
    return card


def read_card(folder: Path) -> AdapterCard:
    """Return the card of the adapter in `folder`.

    Raises:
        NotFoundError: It has none.
        CorruptDataError: It cannot be read.
    """
    file = folder / CARD
    try:
        return AdapterCard.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        raise NotFoundError(
            f"{file} is not there: restore it, or train the adapter again"
        ) from None
    except ValidationError as error:
        raise CorruptDataError(f"{file} is no card of an adapter: {error}") from None


def verify_adapter(folder: Path) -> AdapterCard:
    """Return the card after checking each file that it names against its digest.

    Raises:
        NotFoundError: The card or a file is not there.
        CorruptDataError: The card cannot be read, or a file is not the one it names.
    """
    card = read_card(folder)
    for name, expected in card.files.items():
        file = folder / name
        if not file.is_file():
            raise NotFoundError(f"{file} is not there: restore it, or train the adapter again")
        if (found := file_digest(file)) != expected:
            raise CorruptDataError(f"{file} has SHA-256 {found}, its card says {expected}")
    return card
