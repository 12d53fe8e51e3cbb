"""Which files a bundle of each kind is made of, and its card, `README.md`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from collegium.core import NotFoundError
from collegium.llm.adapters import find_adapter, verify_adapter
from collegium.llm.models import resolve_model
from collegium.runtime.sharing.cards import adapter_card, model_card, tables_card
from collegium.runtime.sharing.kinds import Kind
from collegium.store import Manifest, RunDirectory

README = "README.md"

_CHECKPOINT = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja", README)
"""Files of a model; nothing that runs code when it is loaded."""
_OURS = ("digests.json", "bundle.json")
_OF_A_RUN = ("config.yaml", "digest.txt", "manifest.json")
_SUMMARY = "summary.json"


class Collected(NamedTuple):
    """A bundle before it travels."""

    name: str
    files: dict[str, Path]
    """Local files by their names in the bundle."""


def collect(kind: Kind, source: str, tables: Sequence[str], scratch: Path) -> Collected:
    """Return the files of `source` and its card; what has to be written goes into `scratch`.

    Raises:
        NotFoundError: `source`, or something that belongs to it, is not there.
        CorruptDataError: A file is not the one that a card or manifest names.
    """
    collectors: dict[Kind, Callable[[], Collected]] = {
        Kind.ADAPTER: lambda: _adapter(source, scratch),
        Kind.MODEL: lambda: _model(source, scratch),
        Kind.TABLES: lambda: _tables(RunDirectory(source), tables, scratch),
    }
    return collectors[kind]()


def _adapter(source: str, scratch: Path) -> Collected:
    folder = find_adapter(source)
    card = verify_adapter(folder)
    files = {name: folder / name for name in (*card.files, "card.json")}
    return Collected(card.name, files | _readme(scratch, adapter_card(card)))


def _model(source: str, scratch: Path) -> Collected:
    folder = resolve_model(source)
    found = (file for pattern in _CHECKPOINT for file in sorted(folder.glob(pattern)))
    files = {file.name: file for file in found if file.name not in _OURS}
    if "config.json" not in files or not any(name.endswith(".safetensors") for name in files):
        raise NotFoundError(
            f"{folder} holds no checkpoint of config.json and *.safetensors: save the model with "
            "`save_pretrained`"
        )
    name = Path(source.rstrip("/")).name
    readme = {} if README in files else _readme(scratch, model_card(name, files))
    return Collected(name, files | readme)


def _tables(run: RunDirectory, chosen: Sequence[str], scratch: Path) -> Collected:
    manifest = run.manifest()
    if unknown := [name for name in chosen if name not in manifest.rows]:
        known = ", ".join(manifest.rows) or "none"
        raise NotFoundError(f"{run.path} has no table {unknown[0]!r}; its tables: {known}")
    tables = sorted(chosen or manifest.rows)
    wanted = [*_OF_A_RUN, *(f"tables/{name}.parquet" for name in tables)]
    wanted += [_SUMMARY] if run.exists(_SUMMARY) else []
    files = {name: _local(run, manifest, name, scratch) for name in wanted}
    name = run.path.rsplit("/", 1)[-1]
    return Collected(name, files | _readme(scratch, tables_card(run, manifest, tables)))


def _local(run: RunDirectory, manifest: Manifest, name: str, scratch: Path) -> Path:
    """Copy a file of the run, checked against its manifest, into `scratch`."""
    file = scratch / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(manifest.check(name, run.read_bytes(name), run.path))
    return file


def _readme(scratch: Path, text: str) -> dict[str, Path]:
    file = scratch / README
    file.write_text(text, encoding="utf-8")
    return {README: file}
