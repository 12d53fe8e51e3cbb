"""The real chain on generated games: expert, memory with MiniLM, retrieval for a live state."""

import asyncio

import pytest

from collegium.agents.protocol import View
from collegium.agents.queries import build_query
from collegium.core import Chunk, Query
from collegium.embedding import CachedEmbedder, MiniLMConfig, build_embedder
from collegium.environments.household import Grammar, Household
from collegium.environments.household.generator import write_games
from collegium.environments.household.store import GameStore
from collegium.experience import ExperienceMemory, expert_trajectories

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> GameStore:
    root = tmp_path_factory.mktemp("games")
    write_games(root, 12, seed=3)
    return GameStore(root)


@pytest.fixture(scope="module")
def memory(store, tmp_path_factory) -> ExperienceMemory:
    pytest.importorskip("sentence_transformers")
    folder = tmp_path_factory.mktemp("memory")
    embedder = CachedEmbedder(build_embedder(MiniLMConfig(device="cpu")), folder / "cache")
    memory = ExperienceMemory(folder / "memory", embedder, grammar=Grammar.CURRENT)
    tasks = store.tasks("generated_train")
    memory.contribute(list(expert_trajectories(tasks, store, seed=1, step_limit=40)), 0)
    memory.seal(0)
    return memory


def test_a_live_state_finds_guidance_of_its_own_kind(store, memory):
    task = next(t for t in store.tasks("generated_test") if "heat" in t.task_type)
    household = Household(store.load(task))
    turn = household.reset()
    view = View(household.task, turn.observation, (), turn.observation, turn.admissible, 30)
    query = build_query(view, grammar=Grammar.CURRENT, consumer="c")
    found = asyncio.run(memory.as_of(0).retriever().retrieve(query, 5))
    assert len(found) == 5
    assert any(g.chunk.task_type == task.task_type for g in found)
    assert [g.retrieval_score for g in found] == sorted(g.retrieval_score for g in found)


def test_a_stored_state_finds_itself_only_when_allowed(memory):
    chunk = next(memory.index.chunks())
    query = query_of(chunk)
    found = asyncio.run(memory.as_of(0).retriever().retrieve(query, 20))
    assert chunk.task_id not in {g.chunk.task_id for g in found}


def query_of(chunk: Chunk) -> Query:
    return Query(
        environment=chunk.environment,
        task_id=chunk.task_id,
        task_type=chunk.task_type,
        goal=chunk.goal,
        state=chunk.state,
        context=chunk.context,
        progress=chunk.progress,
        grammar=chunk.grammar,
    )
