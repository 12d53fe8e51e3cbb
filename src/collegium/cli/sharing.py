"""`collegium push` and `collegium pull`."""

from pathlib import Path
from typing import Annotated

import typer

from collegium.runtime.sharing.kinds import Kind

_AsJson = Annotated[bool, typer.Option("--json", help="print one JSON object")]


def push(
    kind: Annotated[Kind, typer.Argument(help="what SOURCE is")],
    source: Annotated[str, typer.Argument(help="adapter, model, or run directory")],
    address: Annotated[str, typer.Argument(help="hf://owner/name, hf://datasets/…, or a path")],
    tables: Annotated[
        list[str] | None, typer.Option("--table", help="of a run, such as labels; default: all")
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="let everyone read a repository that is new")
    ] = False,
    as_json: _AsJson = False,
) -> None:
    """Share an adapter, a model or a run's tables."""
    from collegium.runtime.sharing.use_cases import push_bundle

    pushed = push_bundle(kind, source, address, tables=tuple(tables or ()), private=not public)
    if as_json:
        print(pushed.model_dump_json(indent=1))
        return
    count = len(pushed.bundle.files)
    print(f"{count} files {'pushed to' if pushed.new else 'were already at'} {pushed.address}")
    print(f"collegium pull {pushed.address} FOLDER --digest {pushed.digest}")


def pull(
    address: Annotated[str, typer.Argument(help="hf://owner/name[@revision], or a path")],
    folder: Annotated[Path, typer.Argument(help="where the files go; a new folder")],
    digest: Annotated[
        str | None, typer.Option(help="accept only the bundle with this digest")
    ] = None,
    as_json: _AsJson = False,
) -> None:
    """Fetch what was pushed, checking every file."""
    from collegium.runtime.sharing.use_cases import pull_bundle

    pulled = pull_bundle(address, folder, digest)
    if as_json:
        print(pulled.model_dump_json(indent=1))
        return
    print(
        f"{pulled.bundle.kind} {pulled.bundle.name}: {len(pulled.bundle.files)} files in {folder}"
    )
    print(f"digest {pulled.digest}")
