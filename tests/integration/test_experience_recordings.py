"""The recorded episodes of real agents against the official games: how many enter D_0, and why."""

import os
from pathlib import Path

import pytest

from collegium.environments.household.store import GameStore
from collegium.experience.importers import Importer, Outcome, read_recordings

pytestmark = pytest.mark.integration

RECORDINGS = Path(__file__).parents[3] / "shared/data/alfworld/trajectories.jsonl.gz"


@pytest.fixture
def store() -> GameStore:
    if not os.environ.get("ALFWORLD_DATA"):
        pytest.skip("ALFWORLD_DATA is not set: the official games are not unpacked")
    return GameStore()


def test_only_what_wins_a_train_game_enters(store):
    if not RECORDINGS.is_file():
        pytest.skip(f"{RECORDINGS} is not there")
    imported = Importer(store).load(read_recordings(RECORDINGS))
    assert imported.outcomes == {
        "ReAct prompts": {
            Outcome.ACCEPTED: 15,
            Outcome.UNKNOWN_GAME: 1,
            Outcome.NOT_WON: 2,
        },
        "alfworld-eval": {Outcome.NOT_TRAIN: 11},
        "alfworld-react-viewer": {Outcome.NOT_TRAIN: 28},
        "emma-logs": {Outcome.NOT_TRAIN: 172, Outcome.FAILED: 870},
        "mint-bench": {Outcome.NOT_TRAIN: 6968},
        "played here": {Outcome.ACCEPTED: 114, Outcome.FAILED: 13},
    }
    assert {t.task.split for t in imported.trajectories} == {"train"}
