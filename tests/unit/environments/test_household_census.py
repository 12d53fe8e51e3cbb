from pathlib import Path

import pytest

from collegium.core.errors import NotFoundError
from collegium.environments.household.census import Habit, load_census, room_of
from collegium.environments.household.counting import count
from collegium.environments.household.generator import write_games


def test_packaged_census_knows_where_things_are_kept() -> None:
    census = load_census()
    apple = census.rooms["kitchen"].objects["Apple"]
    assert apple.chance("Fridge") > 0.2 > apple.chance("Cabinet")
    assert census.games == sum(room.games for room in census.rooms.values()) == 3553
    assert "heatable" in census.flags["Apple"]
    assert "Apple" in census.fits["Fridge"]


def test_rooms_are_told_by_their_furniture() -> None:
    assert room_of(["Bed", "Desk"]) == "bedroom"
    assert room_of(["sofa", "drawer"]) == "livingroom"
    assert room_of(["cabinet", "fridge"]) == "kitchen"
    assert room_of(["Toilet"]) == "bathroom"


def test_chances_stay_within_zero_and_one() -> None:
    habit = Habit(games=3, placed=4, places={"Shelf": (0, 0), "Desk": (7, 7)})
    assert 0 < habit.chance("Bed") < habit.chance("Shelf") + 1 / 100 < habit.chance("Desk") < 1


def test_counting_reads_train_games_only(tmp_path: Path) -> None:
    write_games(tmp_path, count=12, seed=2, splits=("kept", "ignored"))
    (tmp_path / "json_2.1.1" / "kept").rename(tmp_path / "json_2.1.1" / "train")
    census = count(tmp_path)
    assert census.games == 12
    assert census == count(tmp_path)
    assert set(census.rooms) <= set(load_census().rooms)
    for room in census.rooms.values():
        assert all(h.places for h in room.objects.values())
        assert all(
            hits <= total for h in room.objects.values() for hits, total in h.places.values()
        )


def test_counting_needs_games(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="ALFWORLD_DATA"):
        count(tmp_path)
