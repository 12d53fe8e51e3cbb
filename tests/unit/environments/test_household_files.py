"""Game files: what is accepted, and how a bad one is refused."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

import pytest
from household_kitchen import WALKTHROUGH, game_file, problem_text
from hypothesis import given, settings
from hypothesis import strategies as st

from collegium.core import CorruptDataError, NotFoundError
from collegium.environments.household import GRAMMAR_DIGEST, GameStore, load_game, load_game_text


def official_file(games: Path) -> Path:
    store = GameStore(games)
    return store.path(store.tasks("valid_unseen")[0])


def test_a_game_named_by_digests_is_a_generated_one() -> None:
    game = load_game_text(game_file(), "kitchen/trial")
    assert game.task.model_dump() == {
        "environment": "household",
        "task_id": "kitchen/trial",
        "task_type": "pick_and_place_simple",
        "split": "generated",
        "goal": "put some apple on fridge.",
        "source": "generated",
    }
    assert game.walkthrough == WALKTHROUGH
    assert game.digest == f"sha256:{hashlib.sha256(game_file().encode()).hexdigest()}"


def test_an_official_file_knows_its_task(alfworld_games: Path) -> None:
    path = official_file(alfworld_games)
    task = load_game(path).task
    assert (task.source, task.split) == ("official", "valid_unseen")
    assert task.task_id == f"{path.parent.parent.name}/{path.parent.name}"
    assert task.goal.endswith(".")


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"pddl_domain": "sha256:0"}, "key pddl_domain: unknown domain"),
        ({"pddl_domain": "(define (domain alfred))"}, "key pddl_domain: unknown domain"),
        ({"pddl_domain": None}, "key pddl_domain"),
        ({"grammar": None}, "key grammar"),
        ({"grammar": "no task line"}, "key grammar: has no task line"),
        ({"grammar": {"digest": "sha256:0", "task": "go."}}, "key grammar: unknown grammar"),
        ({"grammar": {"digest": GRAMMAR_DIGEST, "task": 'a"b.'}}, "key grammar: unreadable task"),
        ({"grammar": {"digest": GRAMMAR_DIGEST}}, "key grammar: unreadable task"),
        ({"solvable": False}, "key solvable"),
        ({"pddl_problem": 7}, "key pddl_problem"),
        ({"walkthrough": "look"}, "key walkthrough"),
        ({"walkthrough": [1]}, "key walkthrough"),
        ({"walkthrough": []}, "key walkthrough: does not win"),
        ({"walkthrough": list(WALKTHROUGH[:-1])}, "key walkthrough: does not win"),
        ({"walkthrough": [*WALKTHROUGH, "look"]}, "key walkthrough, command 5: wins before"),
    ],
)
def test_each_key_is_checked(changes: dict[str, object], place: str) -> None:
    with pytest.raises(CorruptDataError, match=f"^houses/x: {place}"):
        load_game_text(game_file(**changes), "kitchen/trial", source="houses/x")


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("(define", "(defin", 1, "does not begin"),
        ("(:domain alfred)", "(:domain other)", 1, "does not begin"),
        ("(:init", "(:inti", None, "ends before"),
        ("(:goal", "(:gaol", None, "ends before"),
        ("Apple_bar_1 - object", "Apple_bar_1 -object", 5, "unreadable declaration"),
        ("Apple_bar_1 - object", "Apple_bar_1 - objects", 5, "unreadable declaration"),
        ("Apple_bar_1 - object", "Apple_bar_9 - object", None, "unknown fact"),
        ("(sliceable Apple_bar_1)", "(slicable Apple_bar_1)", None, "unknown fact"),
        ("(sliceable Apple_bar_1)", "(sliceable Apple_bar_1", None, "unknown fact"),
        ("(sliceable Apple_bar_1)", "(sliceable Fridge_bar_1)", None, "unknown fact"),
        ("(sliceable Apple_bar_1)", "(sliceable Apple_bar_1 Apple_bar_1)", None, "unknown fact"),
        ("(sliceable Apple_bar_1)", "(sliceable Apple_bar_1 Pear_bar_1)", None, "unknown fact"),
        ("(openable Cabinet_bar_1)", "openable Cabinet_bar_1)", None, "unknown fact"),
        ("    )\n(:init", "\n(:init", None, "unreadable|not closed"),
        ("    )\n(:goal", "\n(:goal", None, "unknown fact|not closed"),
        ("(exists (?o - object)", "(forall (?o - object)", None, "none of the six"),
        ("(objectType ?o AppleType)", "(objectType ?o PearType)", None, "undeclared types"),
    ],
)
def test_each_place_of_the_problem_is_checked(
    old: str, new: str, line: int | None, problem: str
) -> None:
    text = problem_text().replace(old, new, 1)
    assert text != problem_text()
    where = line if line is not None else r"\d+"
    with pytest.raises(CorruptDataError, match=rf"^g: pddl_problem line {where}: .*({problem})"):
        load_game_text(game_file(pddl_problem=text), "kitchen/trial", source="g")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("(receptacleType Fridge_bar_1 FridgeType)", "", "Fridge_bar_1 has no receptacleType"),
        ("(receptacleAtLocation Fridge_bar_1 loc_bar_4)", "", "Fridge_bar_1 has no"),
        ("(sliceable Apple_bar_1)", "(sliceable Apple)", "Apple has no number"),
        ("(atLocation agent1 loc_bar_0)", "", "the agent needs one location"),
        ("(atLocation agent1 loc_bar_0)", "(atLocation agent1 loc_bar_1)", "the agent needs one"),
        (
            "(receptacleType Fridge_bar_1 FridgeType)",
            "(receptacleType Fridge_bar_1 FridgeType)(receptacleType Fridge_bar_1 CabinetType)",
            "two values of receptacleType",
        ),
    ],
)
def test_facts_must_hold_together(old: str, new: str, problem: str) -> None:
    text = (
        problem_text().replace("(:objects\n", "(:objects\n Apple - object\n").replace(old, new, 1)
    )
    with pytest.raises(CorruptDataError, match=f"section :init: .*{problem}"):
        load_game_text(game_file(pddl_problem=text), "kitchen/trial")


@settings(deadline=None)
@given(cut=st.integers(min_value=0, max_value=len(game_file()) - 1))
def test_truncated_files_are_refused(cut: int) -> None:
    with pytest.raises(CorruptDataError, match=r"^house: line \d+, column \d+: not JSON"):
        load_game_text(game_file()[:cut], "kitchen/trial", source="house")


@settings(deadline=None)
@given(cut=st.integers(min_value=0, max_value=len(problem_text().rstrip()) - 1))
def test_truncated_problems_are_refused(cut: int) -> None:
    with pytest.raises(CorruptDataError, match=r"^house: pddl_problem line \d+: "):
        load_game_text(game_file(pddl_problem=problem_text()[:cut]), "a/b", source="house")


@settings(deadline=None)
@given(data=st.data(), junk=st.sampled_from(["x", "(", ")", "\\", '"', "\x00", "é", ""]))
def test_altered_files_give_a_game_or_the_error(data: st.DataObject, junk: str) -> None:
    text = game_file()
    at = data.draw(st.integers(min_value=0, max_value=len(text) - 1))
    with suppress(CorruptDataError):
        load_game_text(text[:at] + junk + text[at + 1 :], "kitchen/trial", source="house")


def test_altered_official_files_are_refused(alfworld_games: Path, tmp_path: Path) -> None:
    path = official_file(alfworld_games)
    fields = json.loads(path.read_bytes())
    for key in ("pddl_domain", "grammar"):
        text = json.dumps(fields | {key: fields[key].replace("open", "shut", 1)})
        (tmp_path / "game.tw-pddl").write_text(text)
        with pytest.raises(CorruptDataError, match=rf"game.tw-pddl: key {key}: unknown"):
            load_game(tmp_path / "game.tw-pddl")


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "game.tw-pddl"
    path.write_bytes(b'{"grammar": "\xff\xfe"}')
    with pytest.raises(CorruptDataError, match=r"game\.tw-pddl: byte \d+: not UTF-8"):
        load_game(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "unreadable"),
        ("[]", "unreadable"),
        ('{"task_type": "look_at_obj_in_light"}', "but the game is pick_and_place_simple"),
    ],
)
def test_the_task_type_beside_the_game_must_agree(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "game.tw-pddl").write_text(game_file())
    (tmp_path / "traj_data.json").write_text(text)
    with pytest.raises(CorruptDataError, match=rf"traj_data\.json: key task_type: .*{problem}"):
        load_game(tmp_path / "game.tw-pddl")


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5_000, "[]", "null"])
def test_json_of_other_shapes_is_refused(text: str) -> None:
    with pytest.raises(CorruptDataError, match=r"^house: top level: "):
        load_game_text(text, "kitchen/trial", source="house")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"absent/game\.tw-pddl"):
        load_game(tmp_path / "absent" / "game.tw-pddl")
