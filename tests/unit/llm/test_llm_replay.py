"""Recordings resume after a kill, answer repeats, and say what is missing."""

import asyncio
from pathlib import Path
from typing import Literal

import pytest

from collegium.core import CorruptDataError, EngineError, InvalidInputError
from collegium.llm import Engine, EngineSettings, ReplayConfig, Request
from collegium.llm.replay import RecordingEngine, ReplayEngine
from collegium.llm.scripted import ScriptedEngine

A, B = Request(prompt="a"), Request(prompt="b")


def record(path: Path, *requests: Request, model: str = "scripted") -> ScriptedEngine:
    inner = ScriptedEngine(lambda request: f"answer to {request.prompt}\u2028!", model=model)
    engine = RecordingEngine(inner, path)

    async def run() -> None:
        await asyncio.gather(*(engine.complete(request) for request in requests))

    asyncio.run(run())
    return inner


def test_replay_equals_what_was_recorded(tmp_path: Path) -> None:
    record(tmp_path / "r", A, B, A)
    replay = ReplayEngine(tmp_path / "r")
    assert replay.model == "scripted"
    assert asyncio.run(replay.complete(B)).text == "answer to b\u2028!"


def test_unrecorded_request_says_what_to_do(tmp_path: Path) -> None:
    record(tmp_path / "r", A)
    with pytest.raises(EngineError, match="record this run again"):
        asyncio.run(ReplayEngine(tmp_path / "r").complete(B))


def test_resumed_recording_asks_only_for_what_is_missing(tmp_path: Path) -> None:
    record(tmp_path / "r", A)
    assert record(tmp_path / "r", A, B).requests == [B]


def test_torn_last_line_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "r"
    record(path, A, B)
    path.write_bytes(path.read_bytes()[:-20])
    assert record(path, A, B).requests == [B]
    assert record(path, A, B).requests == []


def test_recording_of_another_model_is_refused(tmp_path: Path) -> None:
    record(tmp_path / "r", A)
    with pytest.raises(InvalidInputError, match="records 'scripted', not 'other'"):
        record(tmp_path / "r", A, model="other")


@pytest.mark.parametrize(
    ("damage", "place"), [("{}\n", "line 1"), ("", "line 1"), ("HEAD\n[]\n", "line 2")]
)
def test_file_that_is_no_recording_names_the_line(tmp_path: Path, damage: str, place: str) -> None:
    head = '{"schema_version": 1, "model": "m"}'
    (tmp_path / "r").write_text(damage.replace("HEAD", head))
    with pytest.raises(CorruptDataError, match=place):
        ReplayEngine(tmp_path / "r")


def test_future_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r").write_text('{"schema_version": 2, "model": "m"}\n')
    with pytest.raises(CorruptDataError, match="version 2"):
        ReplayEngine(tmp_path / "r")


def test_missing_file_is_an_engine_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no recording"):
        ReplayEngine(tmp_path / "none")


class ShoutConfig(EngineSettings):
    kind: Literal["shout"] = "shout"
    volume: int = 1

    def _start(self) -> Engine:
        return ScriptedEngine(lambda request: str(request.prompt) + "!" * self.volume)


def test_what_engines_record_is_replayed_from_their_folder(tmp_path: Path) -> None:
    folder = tmp_path / "recordings"
    for volume, request in ((1, A), (2, B)):
        engine = ShoutConfig(volume=volume, record=str(folder)).build()
        asyncio.run(engine.complete(request))
    assert len(list(folder.iterdir())) == 2
    replay = ReplayConfig(path=str(folder)).build()
    texts = [asyncio.run(replay.complete(request)).text for request in (A, B)]
    assert texts == ["a!", "b!!"]
    assert replay.model == "scripted"


def test_nothing_is_recorded_unless_asked_for(tmp_path: Path) -> None:
    assert isinstance(ShoutConfig().build(), ScriptedEngine)


def test_an_empty_folder_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"`engine\.record`"):
        ReplayEngine(tmp_path)
