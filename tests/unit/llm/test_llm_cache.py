"""A cached directory is built once, whole or not at all, and heals when damaged."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from collegium.llm._cache import cache_root, cached_directory


def test_builds_once_across_concurrent_callers(tmp_path: Path) -> None:
    builds: list[Path] = []

    def build(folder: Path) -> None:
        builds.append(folder)
        (folder / "weights").write_text("x" * 1000)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: cached_directory(tmp_path / "c", build), range(8)))
    assert len(builds) == 1
    assert set(results) == {tmp_path / "c"}


def test_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def build(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        cached_directory(tmp_path / "c", build)
    assert [p.name for p in tmp_path.iterdir() if p.is_dir()] == []


@pytest.mark.parametrize("damage", ["truncate", "remove", "add", "no record"])
def test_damaged_directory_is_built_again(tmp_path: Path, damage: str) -> None:
    def build(folder: Path) -> None:
        (folder / "weights").write_text("good")

    target = cached_directory(tmp_path / "c", build)
    match damage:
        case "truncate":
            (target / "weights").write_text("goo")
        case "remove":
            (target / "weights").unlink()
        case "add":
            (target / "stranger").write_text("?")
        case _:
            (target / "digests.json").unlink()
    cached_directory(target, build)
    assert (target / "weights").read_text() == "good"
    assert sorted(p.name for p in target.iterdir()) == ["digests.json", "weights"]


def test_cache_root_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLEGIUM_CACHE", "/somewhere")
    assert cache_root() == Path("/somewhere")
