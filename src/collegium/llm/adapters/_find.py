"""Names of packaged adapters -> their folders."""

from pathlib import Path

from collegium.core import NotFoundError

INDEX = "index.txt"
WEIGHTS = "adapter_model.safetensors"
CONFIG = "adapter_config.json"


def list_adapters() -> tuple[str, ...]:
    """Return the names of the packaged adapters, sorted."""
    folder = Path(__file__).parent
    return tuple(sorted(p.name for p in folder.iterdir() if (p / WEIGHTS).is_file()))


def shipped_adapters(folder: Path = Path(__file__).parent) -> tuple[str, ...]:
    """Return the names of the adapters that this version ships, whether or not they are there."""
    lines = (folder / INDEX).read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def find_adapter(name: str) -> Path:
    """Return the folder of a packaged adapter, or of one given by path.

    Raises:
        NotFoundError: No such adapter, or a file is missing from its folder.
    """
    packaged = Path(__file__).parent / name
    folder = packaged if packaged.is_dir() else Path(name).expanduser()
    if not folder.is_dir():
        known = ", ".join(list_adapters()) or "none"
        raise NotFoundError(
            f"no adapter {name!r}: packaged adapters are {known}; a path to a PEFT folder works too"
        )
    for file in (WEIGHTS, CONFIG):
        if not (folder / file).is_file():
            raise NotFoundError(f"adapter {folder} has no {file}: restore it, or train it again")
    return folder
