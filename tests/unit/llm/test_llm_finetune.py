"""Trees train the very prompts that acting uses; LoRA files are PEFT's."""

import json

import numpy as np
import pytest

from collegium.core import ConfigError
from collegium.llm.finetune.configs import Progress, TrainingConfig
from collegium.llm.finetune.examples import Branch, Example, Piece, encode

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from collegium.llm.finetune.attention import use_matmul_attention  # noqa: E402
from collegium.llm.finetune.lora import LoraLinear, add_lora, save_adapter  # noqa: E402
from collegium.llm.finetune.training import batches, train  # noqa: E402


def letters(text):
    return [ord(letter) % 60 for letter in text]


def small_model(kind="Llama"):
    """A Llama without biases, or a Qwen2, whose q, k and v have some."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=0.3,
    )
    model = getattr(transformers, f"{kind}ForCausalLM")(config)
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(weight, std=0.3)
    return model


TREE = Example(
    trunk=(Piece("task\n"), Piece("go\n", True), Piece("= seen\n"), Piece("take\n", True)),
    branches=(
        Branch(1, (Piece("# go there\n"), Piece("go\n", True))),
        Branch(3, (Piece("# take it\n"), Piece("take\n", True))),
    ),
)


def test_a_branch_sees_the_trunk_before_its_place_and_itself():
    tree = encode(TREE, letters)
    visible = tree.visible()
    second = np.flatnonzero(tree.lane == 2)
    assert tree.anchor[second[0]] == len("task\ngo\n= seen\n")
    assert set(np.flatnonzero(visible[second[-1]])) == {*range(15), *second}


def test_the_trunk_never_sees_a_branch():
    tree = encode(TREE, letters)
    trunk, branches = np.flatnonzero(tree.lane == 0), np.flatnonzero(tree.lane)
    assert not tree.visible()[np.ix_(trunk, branches)].any()


def test_targets_are_the_trained_pieces_and_nothing_else():
    tree = encode(TREE, letters)
    wanted = "go\ntake\ngo\ntake\n"
    assert tree.tokens[tree.targets[:, 1]].tolist() == letters(wanted)


@pytest.mark.parametrize(
    ("lane", "prompt"),
    [(0, "task\ngo\n= seen\ntake\n"), (1, "task\n# go there\ngo\n"),
     (2, "task\ngo\n= seen\n# take it\ntake\n")],
)  # fmt: skip
def test_one_pass_over_the_tree_equals_a_pass_over_each_prompt(lane, prompt):
    model = small_model()
    plain = model(torch.tensor([letters(prompt)])).logits[0]
    use_matmul_attention(model)
    tree = encode(TREE, letters)
    mask = torch.zeros(1, 1, len(tree), len(tree))
    mask.masked_fill_(~torch.from_numpy(tree.visible())[None, None], torch.finfo(mask.dtype).min)
    logits = model(
        input_ids=torch.from_numpy(tree.tokens)[None],
        position_ids=torch.from_numpy(tree.positions)[None],
        attention_mask=mask,
    ).logits[0]
    own = np.flatnonzero(tree.lane == lane)
    torch.testing.assert_close(logits[own], plain[-len(own) :], atol=1e-5, rtol=1e-4)


def test_training_learns_and_leaves_the_base_weights_alone():
    model = small_model()
    before = model.model.layers[0].mlp.up_proj.weight.clone()
    seen: list[Progress] = []
    config = TrainingConfig(rank=4, learning_rate=2e-2, epochs=30, batch_tokens=200)
    result = train(
        model,
        [encode(TREE, letters)] * 4,
        config,
        checkpoints={},
        on_progress=seen.append,
        on_checkpoint=lambda name, layers: None,
    )
    assert result.losses[-1] < 0.2 * result.losses[0]
    assert torch.equal(before, model.model.layers[0].mlp.up_proj.weight)
    assert seen[-1].tokens == result.tokens == 30 * 4 * len(encode(TREE, letters))


def test_checkpoints_come_at_their_share_of_the_run():
    names = []
    steps = []
    train(
        small_model(),
        [encode(TREE, letters)] * 10,
        TrainingConfig(rank=2, batch_tokens=60),
        checkpoints={"half": 0.5, "twin": 0.5, "tenth": 0.1},
        on_progress=lambda progress: steps.append(progress.step),
        on_checkpoint=lambda name, layers: names.append((name, steps[-1])),
    )
    assert names == [("tenth", 1), ("half", 5), ("twin", 5)]


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match=r"training\.device is cuda"):
        train(
            small_model(),
            [encode(TREE, letters)],
            TrainingConfig(device="cuda"),
            checkpoints={},
            on_progress=lambda progress: None,
            on_checkpoint=lambda name, layers: None,
        )


def test_the_layer_is_the_formula_and_so_are_its_gradients():
    torch.manual_seed(3)
    base = torch.nn.Linear(5, 3)
    layer = LoraLinear(base, 2, 8.0, torch.Generator().manual_seed(1))
    torch.nn.init.normal_(layer.lora_b)
    x = torch.randn(2, 4, 5, requires_grad=True)
    plain = base(x) + 4.0 * (x @ layer.lora_a.t()) @ layer.lora_b.t()
    torch.testing.assert_close(layer(x), plain)
    inputs = (x, layer.lora_a, layer.lora_b)
    ours = torch.autograd.grad(layer(x).square().sum(), inputs)
    torch.testing.assert_close(ours, torch.autograd.grad(plain.square().sum(), inputs))


def test_every_example_is_in_one_batch_of_an_epoch():
    examples = [encode(TREE, letters)] * 23
    config = TrainingConfig(batch_tokens=3 * len(examples[0]))
    packed = list(batches(examples, config, 0))
    assert sorted(i for batch in packed for i in batch) == list(range(23))
    assert max(map(len, packed)) == 3


@pytest.mark.parametrize("kind", ["Llama", "Qwen2"])
def test_the_adapter_file_gives_the_trained_model_when_peft_reads_it(tmp_path, kind):
    peft = pytest.importorskip("peft")
    model = small_model(kind)
    layers = add_lora(model, 4, 8.0, seed=1)
    for layer in layers.values():
        torch.nn.init.normal_(layer.lora_b, std=0.02)
        layer.lora_a.data = layer.lora_a.data.bfloat16().float()
        layer.lora_b.data = layer.lora_b.data.bfloat16().float()
    tokens = torch.tensor([letters("task\ngo\n")])
    ours = model(tokens).logits
    save_adapter(layers, tmp_path, base_model="tiny", rank=4, alpha=8.0)
    assert json.loads((tmp_path / "adapter_config.json").read_text())["r"] == 4
    theirs = peft.PeftModel.from_pretrained(small_model(kind), tmp_path)(tokens).logits
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-3)
