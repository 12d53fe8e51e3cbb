"""Games on disk: found by directory, unpacked without reaching outside."""

import io
import tarfile
from pathlib import Path

import pytest
from household_kitchen import game_file

from collegium.core import CorruptDataError, NotFoundError
from collegium.environments.household import GameStore, unpack_games

TASK = "pick_and_place_simple-Apple-None-Fridge-1"


def write_archive(directory: Path, members: dict[str, str]) -> Path:
    path = directory / "games_mine.tar.xz"
    with tarfile.open(path, "w:xz") as archive:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def test_unpacked_games_are_listed_and_loaded(tmp_path: Path) -> None:
    names = [f"json_2.1.1/generated/{TASK}/trial_{i}/game.tw-pddl" for i in (2, 1)]
    names.append("json_2.1.1/generated/pick_and_place_with_movable_recep-A-B-C-1/t/game.tw-pddl")
    write_archive(tmp_path, dict.fromkeys(names, game_file()))
    assert unpack_games(tmp_path, tmp_path / "games") == 3
    store = GameStore(tmp_path / "games")
    tasks = store.tasks("generated")
    assert [task.task_id for task in tasks] == [f"{TASK}/trial_1", f"{TASK}/trial_2"]
    game = store.load(tasks[0])
    assert game.task == tasks[0].model_copy(update={"goal": "put some apple on fridge."})


@pytest.mark.parametrize(
    "name",
    [
        "../json_2.1.1/x/y/z/game.tw-pddl",
        "/json_2.1.1/x/y/z/game.tw-pddl",
        "json_2.1.1/x/../../z/game.tw-pddl",
        "json_2.1.1/x/y/z/run.sh",
    ],
)
def test_archives_cannot_write_anything_but_games(tmp_path: Path, name: str) -> None:
    write_archive(tmp_path, {name: "text"})
    with pytest.raises(CorruptDataError, match="not a game file"):
        unpack_games(tmp_path, tmp_path / "inner" / "games")
    assert not [path for path in (tmp_path / "inner").rglob("*") if path.is_file()]


def test_links_are_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "games_links.tar.xz", "w:xz") as archive:
        member = tarfile.TarInfo("json_2.1.1/x/y/z/game.tw-pddl")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)
    with pytest.raises(CorruptDataError, match="not a game file"):
        unpack_games(tmp_path, tmp_path / "games")


def test_huge_members_are_refused(tmp_path: Path) -> None:
    write_archive(tmp_path, {"json_2.1.1/x/y/z/game.tw-pddl": " " * 5_000_000})
    with pytest.raises(CorruptDataError, match="5000000 bytes"):
        unpack_games(tmp_path, tmp_path / "games")


def test_damaged_archives_are_named(tmp_path: Path) -> None:
    path = write_archive(tmp_path, {f"json_2.1.1/x/y/z{i}/game.tw-pddl": "text" for i in range(99)})
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(CorruptDataError, match=r"games_mine\.tar\.xz: damaged"):
        unpack_games(tmp_path, tmp_path / "games")


def test_an_empty_directory_has_no_archives(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no archives games_\*\.tar\.xz"):
        unpack_games(tmp_path, tmp_path / "games")


def test_missing_games_say_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = "collegium data household --from ARCHIVE_DIR"
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    with pytest.raises(NotFoundError, match=f"ALFWORLD_DATA is not set.*{command}"):
        GameStore()
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    with pytest.raises(NotFoundError, match=rf"holds no directory json_2\.1\.1.*{command}"):
        GameStore()


def test_unknown_splits_list_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "json_2.1.1" / "train").mkdir(parents=True)
    with pytest.raises(NotFoundError, match=r"no games; splits there: \['train'\]"):
        GameStore(tmp_path).tasks("test")


def test_official_splits_are_complete(alfworld_games: Path) -> None:
    store = GameStore(alfworld_games)
    counts = {split: len(store.tasks(split)) for split in ("train", "valid_seen", "valid_unseen")}
    assert counts == {"train": 3553, "valid_seen": 140, "valid_unseen": 134}
