"""The real engine on the default model: the protocol, and what only vLLM can get wrong."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, TypeVar

import llm_conformance as suite
import pytest

from collegium.core import EngineError, InvalidInputError, Sampling
from collegium.llm import Engine, Request, VllmConfig
from collegium.llm.models import DEFAULT_MODEL, resolve_model

pytest.importorskip("vllm")
pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]

T = TypeVar("T")
STORY = (
    "The kitchen has a fridge, a stove, a sink and twelve drawers. A man walks in and looks for a "
    "knife to cut the bread. He opens the first drawer and finds a spoon. He opens the second "
    "drawer and finds a fork. He opens the third drawer and finds a plate. "
)
DRAWERS = tuple(f" go to drawer {i}" for i in (1, 12, 2))


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    made = VllmConfig(kv_cache_gb=0.3, max_model_len=1024).build()
    yield made
    asyncio.run(made.close())


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


@pytest.mark.parametrize("check", [c for c in suite.CHECKS if c is not suite.closes_twice])
def test_engine_conforms(check: Callable[[Engine], Awaitable[None]], engine: Engine) -> None:
    async def checked() -> None:
        await check(engine)

    run(checked())


def test_next_token_is_that_of_transformers(engine: Engine) -> None:
    """Prompts end around the borders of cache blocks; near ties may fall either way."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    checkpoint = resolve_model(DEFAULT_MODEL)
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)
    ids = tokenizer(STORY * 4)["input_ids"]
    clear = 0
    for length in (5, 31, 32, 33, 48, 64, 65, 96, 129, 200):
        prompt = tokenizer.decode(ids[:length])
        with torch.no_grad():
            logits = model(torch.tensor([ids[:length]])).logits[0, -1].log_softmax(-1)
        (first, second), (token, _) = (x.tolist() for x in logits.topk(2))
        if first - second > 0.5:
            clear += 1
            request = Request(prompt=prompt, sampling=Sampling(max_tokens=1))
            assert run(engine.complete(request)).text == tokenizer.decode([token])
    assert clear >= 7


def test_every_choice_can_be_drawn_also_where_one_begins_another(engine: Engine) -> None:
    sampling = Sampling(temperature=2.0)
    requests = [
        Request(prompt="Where?\n>", choices=DRAWERS, stop=("\n",), sampling=sampling, seed=seed)
        for seed in range(60)
    ]

    async def draw() -> Counter[str]:
        answers = await asyncio.gather(*(engine.complete(request) for request in requests))
        return Counter(answer.text for answer in answers)

    assert set(run(draw())) == set(DRAWERS)


def test_greedy_choice_is_the_likeliest_path(engine: Engine) -> None:
    prompt = "> look\nYou see a fridge 1.\n> open fridge 1\nThe fridge 1 is open.\n> go to"
    choices = (" fridge 1", " qzx 7")
    assert run(engine.complete(Request(prompt=prompt, choices=choices))).text == " fridge 1"


def test_decided_choice_costs_no_further_tokens(engine: Engine) -> None:
    unique_at_once = (" look", " inventory", " open the third drawer from the left")
    completion = run(engine.complete(Request(prompt="?\n>", choices=unique_at_once)))
    assert completion.usage.completion_tokens == 1
    alone = run(engine.complete(Request(prompt="?\n>", choices=unique_at_once[2:])))
    assert alone.text == unique_at_once[2]
    assert alone.usage.calls == 0


def test_prompt_that_grows_is_mostly_cached(engine: Engine) -> None:
    prompt = "".join(f"> go to shelf {i}\nYou see nothing.\n" for i in range(20)) + ">"
    run(engine.complete(Request(prompt=prompt, choices=DRAWERS)))
    longer = prompt + " look\nYou see a desk 1.\n>"
    usage = run(engine.complete(Request(prompt=longer, choices=DRAWERS))).usage
    assert usage.prompt_tokens - usage.cached_tokens < 64


def test_stop_string_is_cut_off(engine: Engine) -> None:
    request = Request(prompt="1, 2, 3, 4, 5,", stop=(" 9",), sampling=Sampling(max_tokens=30))
    completion = run(engine.complete(request))
    assert completion.finish_reason == "stop"
    assert completion.text.endswith("8,")


def test_too_long_a_prompt_fails_alone(engine: Engine) -> None:
    good = Request(prompt="hello", sampling=Sampling(max_tokens=4))
    bad = Request(prompt="hello " * 2000, sampling=Sampling(max_tokens=4))

    async def both() -> list[Any]:
        calls = (engine.complete(request) for request in (bad, good))
        return await asyncio.gather(*calls, return_exceptions=True)

    failed, fine = run(both())
    assert isinstance(failed, EngineError)
    assert fine.text


def test_cancelled_request_frees_its_place(engine: Engine) -> None:
    async def cancel() -> str:
        long = Request(prompt="Once", sampling=Sampling(max_tokens=900, temperature=1.0))
        tasks = [asyncio.create_task(engine.complete(long)) for _ in range(40)]
        await asyncio.sleep(1.0)
        for task in tasks:
            task.cancel()
        return (await asyncio.wait_for(engine.complete(suite.CHOICE), 30)).text

    assert run(cancel()) in (suite.CHOICE.choices or ())


def test_adapter_that_is_not_merged_is_refused(engine: Engine) -> None:
    with pytest.raises(InvalidInputError, match="lora: true"):
        run(engine.complete(Request(prompt="?", adapter="other")))


def test_closed_engine_says_so() -> None:
    engine = VllmConfig(kv_cache_gb=0.1, max_model_len=256).build()
    run(suite.closes_twice(engine))
    with pytest.raises(EngineError, match="closed"):
        run(engine.complete(suite.PLAIN))
