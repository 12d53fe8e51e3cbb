"""What adapters learn from: task types that exist, guidance as at run time, a token budget."""

import pytest
from pydantic import ValidationError

from collegium.agents.transcript import TranscriptFormat
from collegium.core import InvalidInputError
from collegium.embedding import HashEmbedder
from collegium.environments.household import GameStore, Grammar
from collegium.environments.household.generator import write_games
from collegium.environments.household.short import HouseholdText
from collegium.experience import ExperienceMemory, RetrievalConfig, Scope, expert_trajectories
from collegium.experience.curriculum import CurriculumConfig, Material, build_curriculum, set_aside

TRAIN = "generated_train"
KINDS = (
    "pick_and_place_simple",
    "pick_two_obj_and_place",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
)


@pytest.fixture(scope="module")
def material(tmp_path_factory) -> Material:
    root = tmp_path_factory.mktemp("games")
    write_games(root, 12, seed=5)
    store = GameStore(root)
    memory = ExperienceMemory(root / "memory", HashEmbedder(32), grammar=Grammar.CURRENT)
    tasks = store.tasks(TRAIN)
    memory.contribute(list(expert_trajectories(tasks, store, seed=1, step_limit=30)), 0)
    text = TranscriptFormat(HouseholdText())
    seen = memory.seal(0)
    return Material(tasks, store, seen, RetrievalConfig(), Grammar.CURRENT, text, str.encode)


def told(example) -> str:
    return bytes(example.tokens.tolist()).decode()


def test_examples_fill_the_budget_and_repeat_under_the_seed(material):
    config = CurriculumConfig(task_types=KINDS, tokens=20_000)
    examples = build_curriculum(material, config)
    assert sum(map(len, examples[:-1])) < 20_000 <= sum(map(len, examples))
    again = build_curriculum(material, config)
    assert [told(e) for e in again] == [told(e) for e in examples]
    assert any("\n# " in told(e) for e in examples)


@pytest.mark.parametrize("scope", list(Scope))
def test_guidance_is_retrieved_as_configured(material, monkeypatch, scope):
    asked = []
    retriever = type(material.memory).retriever

    def noted(self, config=None):
        asked.append(config)
        return retriever(self, config)

    monkeypatch.setattr(type(material.memory), "retriever", noted)
    retrieval = RetrievalConfig(scope=scope)
    config = CurriculumConfig(task_types=KINDS, tokens=100)
    build_curriculum(material._replace(retrieval=retrieval), config)
    assert asked == [retrieval]


@pytest.mark.parametrize("kinds", [("pick_and_plaice",), (), (KINDS[0], KINDS[0])])
def test_task_types_exist_and_are_named_once(kinds):
    with pytest.raises(ValidationError, match="task_types"):
        CurriculumConfig(task_types=kinds, tokens=1)


def test_types_without_a_game_are_refused(material):
    config = CurriculumConfig(task_types=KINDS[3:4], tokens=1)
    others = [task for task in material.tasks if task.task_type != KINDS[3]]
    with pytest.raises(InvalidInputError, match="none of the 0 tasks of the types pick_clean"):
        build_curriculum(material._replace(tasks=others), config)


def test_games_that_the_expert_never_wins_end_the_search(material, monkeypatch):
    monkeypatch.setattr("collegium.experience.curriculum.demonstrate", lambda *_, **__: ())
    with pytest.raises(InvalidInputError, match="wins none of the 2 tasks"):
        build_curriculum(material, CurriculumConfig(task_types=KINDS[:1], tokens=1))


def test_tasks_set_aside_are_not_trained_on(material):
    train, aside = set_aside(material.tasks, 5, seed=3)
    assert (len(train), len(aside)) == (7, 5)
    ids = {task.task_id for task in material.tasks}
    assert {task.task_id for task in [*train, *aside]} == ids
    assert set_aside(material.tasks, 5, seed=3) == (train, aside)
