"""The arms of an evaluation: what each compares, and what was noted about it in the run directory.

A mode says where guidance comes from. Besides those named here, each trained ranker is a mode by
the name of its model, e.g. `lambdamart` or `lambdamart_null`. An arm is a mode, perhaps under
another scope or with only a part of the memory, and has a name of its own.
"""

from collections.abc import Iterator
from typing import Any, Final, Literal

from pydantic import Field, model_validator

from collegium.config import Config
from collegium.core import Record
from collegium.experience.index import Scope
from collegium.store import RunDirectory
from collegium.store.records import read_records

NO_RETRIEVAL: Final = "no_retrieval"
"""The agent alone."""
RETRIEVAL: Final = "retrieval"
"""The closest chunk: single-stage retrieval by similarity."""
RANDOM: Final = "random_chunk"
"""Any visible chunk: what guidance does that is not chosen."""
ORACLE: Final = "oracle"
"""The expert's own episode on the very game: the bound of MATM's appendix N."""
WARNINGS: Final = "warnings"
"""Chunks of failed trajectories, shown as what did not work."""
EXPERT: Final = "expert"
"""The text-only explorer plays, no language model: what imitating it could reach at most."""

MODES: Final = (NO_RETRIEVAL, RETRIEVAL, RANDOM, ORACLE, WARNINGS, EXPERT)
"""The modes that need no trained ranker."""
UNGUIDED: Final = (NO_RETRIEVAL, EXPERT)
"""The modes that need no memory."""

ARMS = "arms"
"""Table of a run directory with one `ArmNote` a guided or unguided arm, in the order to show."""


class Arm(Config):
    """One arm; a mode's name alone is the arm of that name."""

    name: str = Field(min_length=1)
    """Name of the arm, of its own in the run."""
    mode: str = Field(min_length=1)
    """Where its guidance comes from: a mode, or the name of a model in `rankers`."""
    scope: Scope | None = None
    """Scope of its retrievals; that of `retrieval` when null."""
    fraction: float = Field(default=1.0, gt=0.0, le=1.0)
    """Share of the memory's trajectories that it sees; the parts are nested, and drawn anew for
    each offset."""

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"name": data, "mode": data}
        if isinstance(data, dict) and "mode" not in data and "name" in data:
            return data | {"mode": data["name"]}
        return data

    @property
    def is_model(self) -> bool:
        """Whether the mode is a trained ranker's name."""
        return self.mode not in MODES


class ArmNote(Record):
    """What an arm of the run is, as far as its episodes do not tell."""

    schema_version: Literal[1] = 1
    key: str
    """The arm's name."""
    mode: str
    scope: Scope
    fraction: float
    folder: str | None = None
    """Where the model was taken from, for a model's arm."""
    model_id: str | None = None
    """Content id of the model, for a model's arm."""
    refused: str = ""
    """Why training refused the model, so that nothing is played; empty for arms that are."""


def read_arms(run: RunDirectory) -> Iterator[ArmNote]:
    """Yield the run's arms in their order; raises CorruptDataError naming the row."""
    return read_records(run, ARMS, ArmNote)
