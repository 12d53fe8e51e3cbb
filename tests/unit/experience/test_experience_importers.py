"""Pre-population: recordings translated, replayed, admitted or refused with a reason."""

import gzip
import json

import pytest

from collegium.core import CorruptDataError, NotFoundError
from collegium.environments.household import Grammar, Household
from collegium.environments.household.generator import write_games
from collegium.environments.household.store import GameStore
from collegium.experience.importers import Importer, Outcome, Recording, read_recordings
from collegium.experience.replay import expert_trajectories, replay

TRAIN, TEST = "generated_train", "generated_test"


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> GameStore:
    root = tmp_path_factory.mktemp("games")
    write_games(root, 6, seed=11)
    return GameStore(root)


@pytest.fixture(scope="module")
def importer(store) -> Importer:
    return Importer(store, TRAIN)


def recording_of(store, number: int = 0, split: str = TRAIN, **changes) -> Recording:
    """The walkthrough of a game as an agent of the older grammar would have played it."""
    game = store.load(store.tasks(split)[number])
    household = Household(game, Grammar.OLD)
    commands = [
        c.replace(" to ", " in/on ").replace("move ", "put ") if c.startswith("move ") else c
        for c in game.walkthrough
    ]
    fields = {
        "source": "test",
        "agent": "a",
        "split": split,
        "task_id": game.task.task_id,
        "goal": game.task.goal,
        "initial_observation": household.reset().observation,
        "success": True,
        "steps": [{"action": c, "kind": "command", "thought": "hm"} for c in commands],
    }
    return Recording.model_validate(fields | changes)


def outcome_of(importer, recording) -> Outcome:
    [outcome] = importer.load([recording]).outcomes[recording.source]
    return outcome


@pytest.mark.parametrize("number", range(6))
def test_an_old_recording_comes_in_as_the_engine_plays_it(store, importer, number):
    recording = recording_of(store, number)
    [trajectory] = importer.load([recording]).trajectories
    assert trajectory.success
    assert trajectory.producer == "a"
    assert trajectory.versions.grammar == Grammar.CURRENT
    assert "Welcome" in trajectory.initial_observation
    game = store.load(trajectory.task)
    assert replay(Household(game), game.walkthrough, "a") == trajectory


def test_a_recording_without_a_game_is_found_by_goal_room_and_replay(store, importer):
    recording = recording_of(store, 2)
    lost = recording.model_copy(update={"task_id": None})
    [trajectory] = importer.load([lost]).trajectories
    assert trajectory.task.task_id == recording.task_id


def test_every_refusal_has_its_reason(store, importer):
    refused = {
        Outcome.NOT_TRAIN: [
            recording_of(store, split=TEST),
            recording_of(store, split=TEST).model_copy(update={"split": TRAIN}),
            recording_of(store, split=TEST, task_id=None),
        ],
        Outcome.FAILED: [recording_of(store, success=False)],
        Outcome.UNKNOWN_GAME: [
            recording_of(store, task_id=None).model_copy(update={"split": None}),
            recording_of(store, task_id=None, goal="put a moon in sky."),
            recording_of(store, task_id=None, goal="sing a song."),
            recording_of(store, task_id=None, initial_observation="you see a void 1."),
        ],
        Outcome.UNTRANSLATABLE: [
            recording_of(store, steps=[{"action": 'goto("shelf 1")', "kind": "code"}]),
            recording_of(store, steps=[{"action": "dance", "kind": "command"}]),
            recording_of(store, steps=[{"action": "go banana", "kind": "command"}]),
        ],
        Outcome.NOT_WON: [recording_of(store, steps=[{"action": "look", "kind": "command"}])],
    }
    for outcome, recordings in refused.items():
        for recording in recordings:
            assert outcome_of(importer, recording) is outcome


def test_an_import_counts_by_source(store, importer):
    imported = importer.load(
        [
            recording_of(store, 0),
            recording_of(store, 1),
            recording_of(store, 0, success=False),
            recording_of(store, 0, split=TEST, source="other"),
        ]
    )
    assert len(imported.trajectories) == 2
    assert imported.outcomes == {
        "test": {Outcome.ACCEPTED: 2, Outcome.FAILED: 1},
        "other": {Outcome.NOT_TRAIN: 1},
    }


def test_recordings_are_read_and_a_bad_line_is_named(store, tmp_path):
    file = tmp_path / "r.jsonl.gz"
    good = recording_of(store)
    with gzip.open(file, "wt") as out:
        out.write(good.model_dump_json() + "\n")
    assert list(read_recordings(file)) == [good]
    with gzip.open(file, "wt") as out:
        out.write(good.model_dump_json() + "\n" + json.dumps({"source": 1}) + "\n")
    with pytest.raises(CorruptDataError, match="line 2"):
        list(read_recordings(file))
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(CorruptDataError, match=r"r\.jsonl\.gz"):
        list(read_recordings(file))
    with pytest.raises(NotFoundError, match="absent"):
        list(read_recordings(tmp_path / "absent.jsonl.gz"))


def test_the_expert_plays_each_task_once_and_the_same_way(store):
    tasks = store.tasks(TRAIN)
    played = list(expert_trajectories(tasks, store, seed=1, step_limit=40, noise=0.2))
    assert [t.task.task_id for t in played] == [t.task_id for t in tasks]
    assert {t.producer for t in played} == {"explorer"}
    assert played == list(expert_trajectories(tasks, store, seed=1, step_limit=40, noise=0.2))
    assert played != list(expert_trajectories(tasks, store, seed=2, step_limit=40, noise=0.2))
    assert sum(t.success for t in played) >= 3
    for trajectory in played:
        assert trajectory.success == (trajectory.score == 1.0)
        assert trajectory.success or len(trajectory.steps) == 40


def test_the_step_limit_holds(store):
    [played] = expert_trajectories(store.tasks(TRAIN)[:1], store, seed=1, step_limit=1)
    assert len(played.steps) == 1
    assert not played.success
