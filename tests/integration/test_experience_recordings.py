"""The recorded episodes of real agents against the official games: how many enter D_0, and why."""

import pytest

from collegium.environments.household.store import GameStore
from collegium.experience.importers import Importer, Outcome, read_recordings

pytestmark = pytest.mark.integration


def test_only_what_wins_a_train_game_enters(alfworld_games, shared_data):
    store = GameStore(alfworld_games)
    recordings = shared_data / "alfworld" / "trajectories.jsonl.gz"
    imported = Importer(store).load(read_recordings(recordings))
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
