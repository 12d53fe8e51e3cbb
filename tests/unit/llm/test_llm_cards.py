"""An adapter's card names its files by digest, and whatever no longer agrees is named."""

from pathlib import Path

import pytest

from collegium.core import CorruptDataError, NotFoundError
from collegium.llm.adapters import (
    list_adapters,
    read_card,
    shipped_adapters,
    verify_adapter,
    write_card,
)


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    folder = tmp_path / "keen"
    folder.mkdir()
    (folder / "adapter_model.safetensors").write_bytes(b"weights")
    (folder / "adapter_config.json").write_text("{}")
    write_card(
        folder, base_model="toy", data="3 games", seed=1, command="train", benchmarks={"all": 0.5}
    )
    return folder


def test_a_written_card_is_read_back(adapter: Path) -> None:
    card = read_card(adapter)
    assert (card.name, card.benchmarks) == ("keen", {"all": 0.5})
    assert verify_adapter(adapter) == card


def test_altered_weights_are_named(adapter: Path) -> None:
    (adapter / "adapter_model.safetensors").write_bytes(b"others")
    with pytest.raises(CorruptDataError, match=r"adapter_model\.safetensors has SHA-256"):
        verify_adapter(adapter)


@pytest.mark.parametrize("name", ["adapter_model.safetensors", "card.json"])
def test_a_missing_file_is_named(adapter: Path, name: str) -> None:
    (adapter / name).unlink()
    with pytest.raises(NotFoundError, match=name):
        verify_adapter(adapter)


def test_a_card_of_something_else_is_refused(adapter: Path) -> None:
    (adapter / "card.json").write_text('{"name": "keen"}')
    with pytest.raises(CorruptDataError, match="no card of an adapter"):
        read_card(adapter)


def test_the_index_names_exactly_the_packaged_adapters() -> None:
    assert sorted(shipped_adapters()) == list(list_adapters())


@pytest.mark.parametrize("name", shipped_adapters())
def test_each_shipped_adapter_agrees_with_its_card(name: str) -> None:
    import collegium.llm.adapters as package

    card = verify_adapter(Path(package.__file__).parent / name)
    assert card.name == name
    assert 0 <= card.benchmarks["all"] <= 1, "measured on games set aside"


def test_a_card_cut_off_leaves_the_old_one(adapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(_: int) -> None:
        raise KeyboardInterrupt

    before = read_card(adapter)
    about = before.model_dump(exclude={"files", "seed"})
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", killed)
        with pytest.raises(KeyboardInterrupt):
            write_card(adapter, **about, seed=2)
    assert verify_adapter(adapter) == before
