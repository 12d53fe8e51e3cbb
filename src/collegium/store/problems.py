"""What pydantic finds wrong, on one line."""

from pydantic import ValidationError


def first_problem(error: ValidationError) -> str:
    """Return where the first problem is, and what it is."""
    first = error.errors()[0]
    place = ".".join(str(part).encode(errors="backslashreplace").decode() for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]
