"""Training as a job: a tiny model on generated games, its adapters, cards and manifest."""

import asyncio
import json

import pytest
from pydantic import ValidationError

from collegium.config import digest
from collegium.llm.adapters import verify_adapter
from collegium.runtime.jobs.progress import Silent
from collegium.runtime.jobs.train_agents import TrainAgentsConfig, train_agents
from collegium.runtime.jobs.training import AdapterPlan
from collegium.store import RunDirectory

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

CURRICULUM = {"task_types": ["pick_and_place_simple", "look_at_obj_in_light"], "tokens": 3000}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder with a model of a few thousand weights and a tokenizer of single characters."""
    folder = tmp_path_factory.mktemp("model")
    letters = sorted({*map(chr, range(32, 127)), "\n"})
    vocabulary = {letter: i for i, letter in enumerate([*letters, "?"])}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="?"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    transformers.PreTrainedTokenizerFast(tokenizer_object=plain).save_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return str(folder)


def config_of(model, *adapters):
    return TrainAgentsConfig.model_validate(
        {
            "model": model,
            "games": {"generated": {"count": 8, "seed": 2}, "splits": ["generated_train"]},
            "aside": 2,
            "measured": 0,
            "memory_episodes": 4,
            "embedder": {"kind": "hash"},
            "retrieval": {"scope": "same_task"},
            "adapters": adapters,
        }
    )


def test_adapters_are_trained_once_and_say_where_they_come_from(tmp_path, model):
    plan = {"name": "keen", "curriculum": CURRICULUM, "earlier": {"green": 0.5}}
    config = config_of(model, plan)
    run = RunDirectory(str(tmp_path / "run")).open(config)
    trained = asyncio.run(train_agents(config, run, Silent()))
    green, keen = (verify_adapter(tmp_path / "run" / "adapters" / n) for n in ("green", "keen"))
    assert trained.adapters == (green, keen)
    assert 0 < green.tokens < keen.tokens
    assert keen.data == "the text-only expert's episodes on 6 generated generated_train games"
    assert (keen.games_set_aside, keen.config_digest) == (2, digest(config))
    assert keen.training == config.adapters[0].training.model_dump(mode="json")
    manifest = json.loads(run.read_text("manifest.json"))["files"]
    assert {"adapters/keen/card.json", "adapters/green/adapter_config.json"} <= manifest.keys()
    weights = tmp_path / "run" / "adapters" / "keen" / "adapter_model.safetensors"
    written = weights.stat().st_mtime_ns
    assert asyncio.run(train_agents(config, run, Silent())) == trained
    assert weights.stat().st_mtime_ns == written


@pytest.mark.parametrize(
    ("plan", "place"),
    [
        ({"earlier": {"late": 1.5}}, "less than 1"),
        ({"earlier": {"never": 0}}, "greater than 0"),
        ({"earlier": {"a": 0.5, "b": 0.5}}, "due at one share"),
        ({"name": "../keen"}, "name"),
        ({"training": {"checkpoints": [0.5]}}, "checkpoints"),
        ({"training": {"threads": 0}}, "threads"),
        ({"training": {"device": "tpu"}}, "device"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(plan, place):
    with pytest.raises(ValidationError, match=place):
        AdapterPlan.model_validate({"name": "keen", "curriculum": CURRICULUM} | plan)


def test_two_adapters_of_one_name_are_refused():
    first = {"name": "keen", "curriculum": CURRICULUM}
    second = {"name": "other", "curriculum": CURRICULUM, "earlier": {"keen": 0.5}}
    with pytest.raises(ValidationError, match=r"overwrite each other: \['keen'\]"):
        config_of("model", first, second)
