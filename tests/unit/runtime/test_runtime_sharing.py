"""Adapters, models and run tables travel by the command line, each with a card."""

import json

import pyarrow.parquet as pq
import pytest
import structlog
import yaml
from synthetic_runs import synthetic_run

from collegium.cli import main
from collegium.core import CorruptDataError, InvalidInputError, NotFoundError
from collegium.evaluation.report import build
from collegium.llm.adapters import find_adapter, verify_adapter, write_card
from collegium.runtime.sharing.kinds import Kind
from collegium.runtime.sharing.use_cases import pull_bundle, push_bundle
from collegium.store import RunDirectory


@pytest.fixture(autouse=True)
def _logs():
    yield
    structlog.reset_defaults()


@pytest.fixture
def run(tmp_path):
    made = synthetic_run(tmp_path / "run")
    made.finish()
    build(made.path)
    return made


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "toy-1b"
    folder.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors", "pytorch_model.bin"):
        (folder / name).write_text(name)
    (folder / "modeling_toy.py").write_text("evil()")
    return folder


def front_matter(folder):
    _, front, body = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(front), body


def test_an_adapter_by_its_name(tmp_path, capsys):
    there, here = f"file://{tmp_path}/there", tmp_path / "here"
    assert main(["push", "adapter", "generalist", there, "--json"]) == 0
    pushed = json.loads(capsys.readouterr().out)
    assert main(["pull", there, str(here), "--digest", pushed["digest"]]) == 0
    assert "adapter generalist: 4 files" in capsys.readouterr().out
    assert verify_adapter(here) == verify_adapter(find_adapter("generalist"))
    front, body = front_matter(here)
    assert front["library_name"] == "peft"
    assert "base_model" not in front
    assert "A LoRA adapter for `smollm2-135m-instruct`" in body


def test_an_adapter_of_ones_own_says_what_was_measured(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "adapter_model.safetensors").write_bytes(b"weights")
    (folder / "adapter_config.json").write_text("{}")
    about = {"base_model": "owner/base", "data": "3 games", "benchmarks": {"all": 0.5}}
    write_card(folder, seed=1, **about)
    push_bundle(Kind.ADAPTER, str(folder), str(tmp_path / "there"))
    front, body = front_matter(tmp_path / "there")
    assert front["base_model"] == "owner/base"
    assert "| all | 50.0 % |" in body


def test_what_push_prints_pulls(tmp_path, capsys):
    there = str(tmp_path / "there")
    assert main(["push", "adapter", "novice", there]) == 0
    command = capsys.readouterr().out.splitlines()[1].split()
    here = str(tmp_path / "here")
    assert main([here if word == "FOLDER" else word for word in command[1:]]) == 0
    assert main(["push", "adapter", "novice", there]) == 0
    assert "already" in capsys.readouterr().out


def test_a_damaged_adapter_is_not_pushed(tmp_path):
    folder = tmp_path / "mine"
    push_bundle(Kind.ADAPTER, "novice", str(folder))
    (folder / "adapter_model.safetensors").write_bytes(b"others")
    with pytest.raises(CorruptDataError, match="its card says"):
        push_bundle(Kind.ADAPTER, str(folder), str(tmp_path / "there"))
    assert not (tmp_path / "there").exists()


def test_a_model_goes_without_code(model, tmp_path):
    push_bundle(Kind.MODEL, str(model), "memory://toy")
    pulled = pull_bundle("memory://toy", tmp_path / "here")
    names = {"config.json", "tokenizer.json", "model.safetensors", "README.md"}
    assert set(pulled.bundle.files) == names
    assert pulled.bundle.name == "toy-1b"
    assert front_matter(tmp_path / "here")[0]["library_name"] == "transformers"


def test_a_model_keeps_its_own_card(model, tmp_path):
    (model / "README.md").write_text("mine")
    push_bundle(Kind.MODEL, str(model), str(tmp_path / "there"))
    assert (tmp_path / "there" / "README.md").read_text() == "mine"


def test_a_folder_without_a_checkpoint_is_no_model(model, tmp_path):
    (model / "model.safetensors").unlink()
    with pytest.raises(NotFoundError, match="holds no checkpoint"):
        push_bundle(Kind.MODEL, str(model), str(tmp_path / "there"))


def test_tables_of_a_run(run, tmp_path):
    push_bundle(Kind.TABLES, run.path, str(tmp_path / "there"))
    here = tmp_path / "here"
    pull_bundle(str(tmp_path / "there"), here)
    table = pq.read_table(here / "tables" / "episodes.parquet")
    assert table.column("key").to_pylist() == [row["key"] for row in run.rows("episodes")]
    front, body = front_matter(here)
    assert [each["config_name"] for each in front["configs"]] == ["episodes", "growth"]
    assert all((here / each["data_files"]).is_file() for each in front["configs"])
    assert "| no_retrieval |" in body
    assert run.read_text("digest.txt") in body
    assert not [name for name in here.rglob("*") if "attempts" in str(name)]


def test_some_tables_of_a_run_anywhere(run, tmp_path):
    remote = RunDirectory(f"memory://{tmp_path.name}/run")
    for name in ("config.yaml", "digest.txt", "manifest.json", "tables/growth.parquet"):
        remote.write_bytes(name, run.read_bytes(name))
    pushed = push_bundle(Kind.TABLES, remote.path, str(tmp_path / "there"), tables=["growth"])
    assert "tables/growth.parquet" in pushed.bundle.files
    assert "tables/episodes.parquet" not in pushed.bundle.files
    with pytest.raises(NotFoundError, match="'labels'; its tables: episodes, growth"):
        push_bundle(Kind.TABLES, remote.path, str(tmp_path / "new"), tables=["labels"])


def test_a_run_that_is_not_finished(tmp_path):
    synthetic_run(tmp_path / "run")
    with pytest.raises(NotFoundError, match="not finished"):
        push_bundle(Kind.TABLES, str(tmp_path / "run"), str(tmp_path / "there"))


def test_a_table_that_was_altered_is_not_pushed(run, tmp_path):
    run.write_bytes("tables/growth.parquet", b"others")
    with pytest.raises(CorruptDataError, match=r"growth\.parquet has SHA-256"):
        push_bundle(Kind.TABLES, run.path, str(tmp_path / "there"))


@pytest.mark.parametrize(
    ("kind", "address"), [(Kind.TABLES, "hf://me/it"), (Kind.MODEL, "hf://datasets/me/it")]
)
def test_data_and_models_have_repositories_of_their_own(kind, address):
    with pytest.raises(InvalidInputError, match="the address for"):
        push_bundle(kind, "anything", address)


def test_only_runs_have_tables():
    with pytest.raises(InvalidInputError, match="only a run"):
        push_bundle(Kind.ADAPTER, "novice", "memory://x", tables=["labels"])
