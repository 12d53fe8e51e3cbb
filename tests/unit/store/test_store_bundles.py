"""Bundles on every kind of place: whole, checked, and never mixed with something else."""

import json
import uuid

import pytest
from fake_hub import fake_hub

from collegium.core import (
    ConfigError,
    CorruptDataError,
    InvalidInputError,
    MissingDependencyError,
    NotFoundError,
    UnavailableError,
)
from collegium.store.bundles import Bundle, HubPlace, PathPlace, open_place, pull, push


@pytest.fixture(scope="module")
def hub():
    with fake_hub() as running:
        yield running


@pytest.fixture(params=["disk", "file-url", "memory", "hub"])
def place(request, tmp_path):
    """An empty place of each kind; a function, as a new object shows what was really stored."""
    name = f"p{uuid.uuid4().hex[:8]}"
    match request.param:
        case "hub":
            endpoint = request.getfixturevalue("hub").endpoint
            return lambda: HubPlace(f"hf://me/{name}", endpoint=endpoint)
        case "disk":
            return lambda: PathPlace(str(tmp_path / "there" / name))
        case "file-url":
            return lambda: PathPlace(f"file://{tmp_path}/there/{name}/")
        case _:
            return lambda: PathPlace(f"memory://{name}")


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "mine"
    (folder / "sub").mkdir(parents=True)
    (folder / "weights.bin").write_bytes(bytes(range(256)) * 100)
    (folder / "sub" / "a.txt").write_bytes(b"columns")
    return {"weights.bin": folder / "weights.bin", "sub/a.txt": folder / "sub/a.txt"}


def contents(folder):
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def test_what_is_pushed_is_pulled(place, files, tmp_path):
    pushed = push(place(), "adapter", "keen", files)
    target = tmp_path / "here" / "keen"
    bundle = pull(place(), target, pushed.digest)
    assert (bundle.kind, bundle.name) == ("adapter", "keen")
    pulled = contents(target)
    assert Bundle.parse(pulled.pop("bundle.json"), "here") == bundle
    assert pulled == {name: path.read_bytes() for name, path in files.items()}
    assert [f.name for f in target.parent.iterdir()] == ["keen"]


def test_the_same_again_changes_nothing(place, files, tmp_path):
    first = push(place(), "adapter", "keen", files)
    again = push(place(), "adapter", "keen", files)
    assert (first.new, again.new) == (True, False)
    assert first.digest == again.digest
    target = tmp_path / "here"
    assert pull(place(), target) == pull(place(), target)


def test_where_nothing_is(place, tmp_path):
    with pytest.raises(NotFoundError, match="holds no bundle"):
        pull(place(), tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_another_bundle_was_expected(place, files, tmp_path):
    push(place(), "adapter", "keen", files)
    with pytest.raises(CorruptDataError, match="not 00"):
        pull(place(), tmp_path / "here", "00" * 32)
    assert not (tmp_path / "here").exists()


def test_a_folder_with_something_else_is_left_alone(place, files, tmp_path):
    push(place(), "adapter", "keen", files)
    target = tmp_path / "here"
    target.mkdir()
    (target / "thesis.txt").write_text("my work")
    with pytest.raises(InvalidInputError, match="something else"):
        pull(place(), target)
    assert contents(target) == {"thesis.txt": b"my work"}


def test_a_pulled_folder_that_was_altered_is_named(place, files, tmp_path):
    push(place(), "adapter", "keen", files)
    target = tmp_path / "here"
    pull(place(), target)
    (target / "weights.bin").write_bytes(b"others")
    with pytest.raises(CorruptDataError, match=r"here/weights\.bin has SHA-256"):
        pull(place(), target)


class Stops(Exception):
    """Stands for whatever ends a process."""


def stopping_after(function, calls):
    """Return a function that lets some calls through."""

    def call(*arguments):
        nonlocal calls
        calls -= 1
        if calls < 0:
            raise Stops
        return function(*arguments)

    return call


@pytest.mark.parametrize("scheme", ["", "memory://cut"])
@pytest.mark.parametrize("calls", [0, 1, 2])
def test_a_push_that_is_cut_short_is_no_bundle_and_can_be_made_again(
    scheme, calls, files, tmp_path, monkeypatch
):
    address = f"{scheme}{tmp_path}/there"
    with monkeypatch.context() as patched:
        patched.setattr(PathPlace, "_write", stopping_after(PathPlace._write, calls))
        patched.setattr(PathPlace, "_write_bytes", stopping_after(PathPlace._write_bytes, 0))
        with pytest.raises(Stops):
            push(PathPlace(address), "adapter", "keen", files)
    with pytest.raises(NotFoundError, match="push again"):
        pull(PathPlace(address), tmp_path / "here")
    push(PathPlace(address), "adapter", "keen", files)
    assert pull(PathPlace(address), tmp_path / "here").name == "keen"


def test_a_pull_that_is_cut_short_leaves_nothing(place, files, tmp_path, monkeypatch):
    push(place(), "adapter", "keen", files)
    where = place()
    monkeypatch.setattr(where, "fetch", stopping_after(where.fetch, 1))
    with pytest.raises(Stops):
        pull(where, tmp_path / "new" / "here")
    assert list((tmp_path / "new").iterdir()) == []


def test_a_damaged_file_is_named_and_nothing_appears(files, tmp_path):
    there = tmp_path / "there"
    push(PathPlace(str(there)), "adapter", "keen", files)
    (there / "sub" / "a.txt").write_bytes(b"kolumns")
    with pytest.raises(CorruptDataError, match=r"there/sub/a\.txt has SHA-256"):
        pull(PathPlace(str(there)), tmp_path / "here")
    (there / "sub" / "a.txt").unlink()
    with pytest.raises(NotFoundError, match=r"there/sub/a\.txt"):
        pull(PathPlace(str(there)), tmp_path / "here")
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/passwd", "a/../../b", ".ssh/keys", "a//b", "bundle.json", "a\\b", ""]
)
def test_names_that_lead_elsewhere_are_refused(name, files, tmp_path):
    there = tmp_path / "there"
    push(PathPlace(str(there)), "adapter", "keen", files)
    manifest = json.loads((there / "bundle.json").read_text())
    manifest["files"][name] = "0" * 64
    (there / "bundle.json").write_text(json.dumps(manifest))
    with pytest.raises(CorruptDataError, match=r"bundle\.json"):
        pull(PathPlace(str(there)), tmp_path / "here")
    with pytest.raises(InvalidInputError, match="name of a file"):
        push(PathPlace(str(tmp_path / "new")), "adapter", "keen", {name: files["weights.bin"]})


def test_a_path_takes_one_bundle_and_no_stranger(files, tmp_path):
    there = tmp_path / "there"
    push(PathPlace(str(there)), "adapter", "keen", files)
    with pytest.raises(InvalidInputError, match="holds another bundle"):
        push(PathPlace(str(there)), "adapter", "keener", files)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("my work")
    with pytest.raises(InvalidInputError, match=r"holds thesis\.txt"):
        push(PathPlace(str(tmp_path / "full")), "adapter", "keen", files)


def test_a_repository_keeps_every_bundle_by_its_commit(hub, files, tmp_path):
    address = "hf://me/history"
    first = push(HubPlace(address, endpoint=hub.endpoint), "adapter", "keen", files)
    fewer = {"weights.bin": files["weights.bin"]}
    second = push(HubPlace(address, endpoint=hub.endpoint), "adapter", "keen", fewer)
    assert second.new
    newest = pull(HubPlace(address, endpoint=hub.endpoint), tmp_path / "newest")
    assert set(newest.files) == {"weights.bin"}
    assert set(hub.files("models", "me/history", "main")) == {"weights.bin", "bundle.json"}
    before = pull(HubPlace(first.address, endpoint=hub.endpoint), tmp_path / "before")
    assert before == first.bundle


@pytest.mark.parametrize(("private", "visibility"), [(True, "private"), (False, "public")])
def test_repositories_are_private_unless_told(private, visibility, hub, files):
    address = f"hf://datasets/me/{visibility}"
    push(HubPlace(address, private=private, endpoint=hub.endpoint), "tables", "run", files)
    assert ("datasets", f"me/{visibility}", visibility) in hub.created


@pytest.mark.parametrize(
    "address", ["hf://", "hf://alone", "hf://me/it/file.txt", "hf://spaces/me/it"]
)
def test_addresses_that_name_no_repository(address):
    with pytest.raises(InvalidInputError, match="hf://"):
        open_place(address)


def test_an_unknown_file_system():
    with pytest.raises(InvalidInputError, match="nonsense"):
        open_place("nonsense://there")


def test_a_file_system_whose_package_is_not_installed():
    with pytest.raises(MissingDependencyError, match="s3fs"):
        open_place("s3://bucket/there")


def test_a_hub_that_does_not_answer(files):
    place = HubPlace("hf://me/it", endpoint="http://127.0.0.1:9")
    with pytest.raises(UnavailableError, match="hf://me/it"):
        push(place, "adapter", "keen", files)


def test_a_name_is_a_file_or_a_folder_and_not_both(files, tmp_path):
    pushed = push(PathPlace(str(tmp_path / "place")), "adapter", "a", files)
    record = pushed.bundle.model_copy(update={"files": {"a": "0" * 64, "a/b": "0" * 64}})
    (tmp_path / "place" / "bundle.json").write_text(record.model_dump_json())
    with pytest.raises(CorruptDataError, match="names a as a file and a folder"):
        pull(PathPlace(str(tmp_path / "place")), tmp_path / "out")


def test_a_folder_may_be_empty_but_not_closed(files, tmp_path):
    place = PathPlace(str(tmp_path / "place"))
    push(place, "adapter", "a", files)
    (tmp_path / "out").mkdir()
    pull(place, tmp_path / "out")
    assert (tmp_path / "out" / "bundle.json").is_file()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        pull(place, tmp_path / "file" / "out")


def test_a_source_that_is_gone_is_named(files, tmp_path):
    with pytest.raises(NotFoundError, match="nope is not there"):
        push(PathPlace(str(tmp_path / "place")), "adapter", "a", files | {"x": tmp_path / "nope"})
    assert not (tmp_path / "place").exists()
