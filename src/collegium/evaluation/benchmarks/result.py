"""What every benchmark gives: figures, the targets they are held to, and whether all are met."""

from typing import Self

from pydantic import Field, model_serializer

from collegium.core.records import Record


class Target(Record):
    """The range a figure must lie in; bounds belong to it."""

    min: int | float | None = None
    max: int | float | None = None

    @model_serializer
    def _given_bounds(self) -> dict[str, int | float]:
        bounds = {"min": self.min, "max": self.max}
        return {name: bound for name, bound in bounds.items() if bound is not None}

    def is_met(self, figure: float | None) -> bool:
        """Return whether `figure` was measured and lies in the range."""
        if figure is None:
            return False
        return (self.min is None or figure >= self.min) and (self.max is None or figure <= self.max)


class BenchResult(Record):
    """One benchmark; its JSON has the keys bench, figures, targets and meets."""

    bench: str
    figures: dict[str, int | float | None]
    """None stands for a figure that could not be measured; `notes` say why."""
    targets: dict[str, Target]
    meets: bool
    notes: tuple[str, ...] = Field(default=(), exclude=True)
    """For people only: what was not measured, and the remedy."""

    @classmethod
    def judge(
        cls,
        bench: str,
        figures: dict[str, int | float | None],
        targets: dict[str, Target],
        notes: tuple[str, ...] = (),
    ) -> Self:
        """Return the result that meets its targets if each of them has a figure in its range."""
        meets = all(target.is_met(figures.get(name)) for name, target in targets.items())
        return cls(bench=bench, figures=figures, targets=targets, meets=meets, notes=notes)
