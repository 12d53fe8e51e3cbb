"""A request is refused where it is made, not where it is served."""

import pytest
from pydantic import ValidationError

from collegium.llm import Request


def test_two_constraints_are_refused() -> None:
    with pytest.raises(ValidationError, match="not both"):
        Request(prompt="?", choices=("a",), json_schema={})


def test_no_choice_is_no_choice() -> None:
    with pytest.raises(ValidationError, match="at least one"):
        Request(prompt="?", choices=())
