"""Units of work: one attempt of one agent at one task, with a key that never changes.

The key names the unit inside its run, so a run that is killed and resumed finds what it has done
and counts nothing twice. The run's digest is no part of it: units are looked up in the directory of
their run, which holds one digest only.
"""

from collegium.core import Record, content_id


class EpisodeUnit(Record):
    """Which agent attempts which task under which arm of a run."""

    arm: str
    """The method, e.g. `no_retrieval` or `retrieval`."""
    environment: str
    task_id: str
    agent_id: str
    partition: int = 0
    offset: int = 0
    """Allocation offset of the evaluation (formulas §2.4)."""
    seed: int = 0

    @property
    def key(self) -> str:
        """Content id of all fields: equal units have one key on every machine."""
        return content_id(self)


class BranchUnit(EpisodeUnit):
    """An episode that goes on from the midst of a baseline: a future, or the control beside it."""

    step: int
    """Steps of the baseline before it."""
    rank: int
    """Rank of the guidance it is shown; 0 for the control, which is shown none."""
    repeat: int = 0
