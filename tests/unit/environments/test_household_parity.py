"""Our engine against TextWorld: recorded traces, recorded digests, and live where it is there."""

import gzip
import json
from pathlib import Path

import pytest
from household_kitchen import kitchen

from collegium.core import CorruptDataError
from collegium.environments.household import GameStore, Household, load_game
from collegium.environments.household.oracle import oracle_is_installed
from collegium.environments.household.parity import (
    Recording,
    compare,
    compare_trace,
    read_recordings,
    record,
    sample_tasks,
)
from collegium.environments.household.walks import (
    EpisodeDigest,
    digest_episode,
    first_difference,
    plan_episode,
)

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "household_parity.jsonl"
LIVE_GAMES = 10


def test_recorded_traces_are_repeated_to_the_letter(
    shared_data: Path, alfworld_games: Path
) -> None:
    path = shared_data / "alfworld" / "oracle_traces.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        traces = list(map(json.loads, lines))
    for trace in traces:
        difference = compare_trace(trace["records"], load_game(alfworld_games / trace["game"]))
        assert difference is None, (trace["game"], trace["kind"])
    assert sum(len(trace["records"]) for trace in traces) == 2956


def test_recorded_digests_are_repeated(alfworld_games: Path) -> None:
    store = GameStore(alfworld_games)
    recordings = read_recordings(GOLDEN)
    mismatches = [compare(recording, store.load(recording.task)) for recording in recordings]
    assert [mismatch for mismatch in mismatches if mismatch] == []
    assert len({recording.task_id for recording in recordings}) == len(recordings) >= 400


def test_every_walkthrough_wins_exactly_at_its_last_command(alfworld_games: Path) -> None:
    store = GameStore(alfworld_games)
    tasks = [
        task for split in ("train", "valid_seen", "valid_unseen") for task in store.tasks(split)
    ]
    for task in tasks:
        game = store.load(task)
        household = Household(game)
        won = [household.step(command).won for command in game.walkthrough]
        assert won == [False] * (len(won) - 1) + [True], task.task_id
    assert len(tasks) == 3827


@pytest.mark.skipif(not oracle_is_installed(), reason="needs the extra: collegium[parity]")
@pytest.mark.filterwarnings("ignore")
def test_live_games_are_answered_alike(alfworld_games: Path) -> None:
    store = GameStore(alfworld_games)
    for task in sample_tasks(store, seed=1)[:LIVE_GAMES]:
        game = store.load(task)
        assert compare(record(game, store.path(task), seed=1), game) is None


class Altered:
    """A player that answers one step otherwise."""

    def __init__(self, household: Household, at: int) -> None:
        self._household = household
        self._left = at
        self.reset = household.reset

    def step(self, action: str) -> object:
        self._left -= 1
        turn = self._household.step(action)
        return turn if self._left else turn._replace(observation=turn.observation + " ")


def episode(at: int = 0) -> EpisodeDigest:
    game = kitchen()
    return digest_episode(Altered(Household(game), at), plan_episode("a/b", ("look",), 3))


def test_the_first_differing_step_is_found() -> None:
    assert first_difference(episode(), episode()) is None
    assert first_difference(episode(at=17), episode()) == 17
    shorter = EpisodeDigest(digest="", steps=episode().steps[:-8])
    assert first_difference(shorter, episode()) == episode().length - 1


def test_a_differing_trace_record_is_found() -> None:
    first = Household(kitchen()).reset()
    records = [["<reset>", first.observation, list(first.admissible), False, False, 0]]
    assert compare_trace(records, kitchen()) is None
    wrong = ["look", "You see nothing.", list(first.admissible), False, False, 0]
    assert compare_trace([*records, wrong], kitchen()) == 1


def test_a_recording_of_another_file_is_refused() -> None:
    recording = Recording(
        task_id="a/b", split="s", game="sha256:0", oracle="none", seed=0, episode=episode()
    )
    with pytest.raises(CorruptDataError, match="a/b: the recording is of sha256:0"):
        compare(recording, kitchen())


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    row = Recording(
        task_id="a/b", split="s", game="sha256:0", oracle="none", seed=0, episode=episode()
    )
    path = tmp_path / "digests.jsonl"
    path.write_text(f"{row.model_dump_json()}\n{row.model_dump_json()[:40]}")
    assert read_recordings(path) == [row]
    path.write_text(f"{row.model_dump_json()[:40]}\n{row.model_dump_json()}\n")
    with pytest.raises(CorruptDataError, match="line 1: not a recording"):
        read_recordings(path)
