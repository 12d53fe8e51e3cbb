"""Merged weights are what PEFT makes of the same adapter, and both ways to serve it agree."""

import asyncio
from pathlib import Path

import pytest

from collegium.core import Sampling
from collegium.llm import Engine, Request, VllmConfig
from collegium.llm.adapters import find_adapter, list_adapters, merged_checkpoint
from collegium.llm.models import DEFAULT_MODEL, resolve_model

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")
safetensors = pytest.importorskip("safetensors.torch")
pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]


def test_merge_equals_that_of_peft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLEGIUM_CACHE", str(tmp_path / "cache"))
    torch.manual_seed(0)
    shape = transformers.LlamaConfig(
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=64,
        tie_word_embeddings=True,
    )
    base = transformers.LlamaForCausalLM(shape).bfloat16()
    base.save_pretrained(tmp_path / "base")
    lora = peft.LoraConfig(
        r=4, lora_alpha=16, target_modules="all-linear", init_lora_weights=False, use_rslora=True
    )
    model = peft.get_peft_model(base.float(), lora)
    model.save_pretrained(tmp_path / "adapter")
    expected = model.merge_and_unload().bfloat16().state_dict()
    merged = merged_checkpoint(tmp_path / "base", tmp_path / "adapter")
    found = safetensors.load_file(merged / "model.safetensors")
    assert set(found) <= set(expected)
    assert len(found) > 2 * 7
    for name, weight in found.items():
        torch.testing.assert_close(weight, expected[name], rtol=2**-7, atol=1e-4)


def test_adapter_per_request_answers_like_the_merged_one() -> None:
    pytest.importorskip("vllm")
    if not list_adapters():
        pytest.skip("no packaged adapter")
    name = list_adapters()[0]
    small = {"kv_cache_gb": 0.1, "max_model_len": 256}
    one_token = Sampling(max_tokens=1)
    plain = [Request(prompt=f"> go to shelf {i}\n", sampling=one_token) for i in range(24)]
    adapted = [request.model_copy(update={"adapter": name}) for request in plain]

    def answers(config: VllmConfig, requests: list[Request]) -> list[str]:
        async def run(engine: Engine) -> list[str]:
            completions = await asyncio.gather(*map(engine.complete, requests))
            await engine.close()
            return [completion.text for completion in completions]

        return asyncio.run(run(config.build()))

    merged = answers(VllmConfig(adapter=name, **small), adapted)
    both = answers(VllmConfig(lora=True, max_lora_rank=32, **small), [*plain, *adapted])
    base, served = both[: len(plain)], both[len(plain) :]
    assert _agreement(served, merged) >= 0.8  # near ties may fall either way
    assert _agreement(served, base) < _agreement(served, merged)


def _agreement(one: list[str], other: list[str]) -> float:
    return sum(a == b for a, b in zip(one, other, strict=True)) / len(one)


def test_packaged_adapters_fit_the_default_model() -> None:
    base = resolve_model(DEFAULT_MODEL)
    for name in list_adapters():
        assert (merged_checkpoint(base, find_adapter(name)) / "model.safetensors").is_file()
