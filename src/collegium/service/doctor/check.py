"""What a check says: a state, what was found, and what to do about it."""

from enum import StrEnum

from pydantic import computed_field, model_validator

from collegium.core import CollegiumError, Record


class Status(StrEnum):
    """How a check came out; only `FAIL` makes a machine unfit."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Check(Record):
    """One finding."""

    name: str
    status: Status
    detail: str
    remedy: str = ""
    """What to do; never empty when the check failed."""

    @model_validator(mode="after")
    def _failures_have_a_remedy(self) -> "Check":
        if self.status is Status.FAIL and not self.remedy:
            raise ValueError(f"check {self.name}: a failed check needs a remedy")
        return self


class Diagnosis(Record):
    """All findings."""

    checks: tuple[Check, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(check.status is not Status.FAIL for check in self.checks)


def passed(name: str, detail: str) -> Check:
    """Return a green check."""
    return Check(name=name, status=Status.OK, detail=detail)


def warned(name: str, detail: str, remedy: str = "") -> Check:
    """Return a yellow check: something works worse than it could."""
    return Check(name=name, status=Status.WARN, detail=detail, remedy=remedy)


def failed(name: str, problem: CollegiumError | str, remedy: str) -> Check:
    """Return a red check."""
    return Check(name=name, status=Status.FAIL, detail=str(problem), remedy=remedy)
