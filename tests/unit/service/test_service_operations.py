"""Definitions that do not fit together are refused, and so is JSON that nothing can hold."""

import contextlib
import math
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from collegium.core import InvalidInputError, NotFoundError
from collegium.service.operations import (
    Input,
    NamespacedInput,
    Operation,
    Registry,
    Scope,
    parse_json,
)
from collegium.service.operations.guard import MAX_DEPTH, MAX_VALUES, check_json


class Asked(NamespacedInput):
    number: int = 0


class Told(BaseModel):
    number: int


@pytest.fixture
def operation():
    return Operation(
        name="ask",
        summary="Ask",
        scope=Scope.READ,
        method="GET",
        path="/v1/namespaces/{namespace}/ask",
        input=Asked,
        output=Told,
        handler=lambda call, asked: Told(number=asked.number),
        example=Asked(namespace="demo"),
    )


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Not a name"},
        {"path": "/v1/namespaces/{namespace}/{unknown}"},
        {"path": "/v1/ask"},
        {"scope": None},
        {"scope": "everything"},
        {"input": Input},
    ],
)
def test_wrong_definitions(operation, change):
    with pytest.raises(ValueError, match=r"ask|name"):
        replace(operation, **change)


def test_registry(operation):
    with pytest.raises(ValueError, match="two operations"):
        Registry([operation, replace(operation, path="/v1/namespaces/{namespace}/else")])
    with pytest.raises(ValueError, match="two operations"):
        Registry([operation, replace(operation, name="other")])
    registry = Registry([operation])
    assert list(registry) == [operation] == [registry["ask"]]
    with pytest.raises(NotFoundError, match="known: ask"):
        registry["tell"]


def test_floods_of_values_are_refused_quickly():
    """Validating half a million values in the wrong place takes half a minute."""
    check_json([0] * (MAX_VALUES - 1))
    for flood in ([0] * 10**6, {str(n): 0 for n in range(10**5)}):
        started = time.process_time()
        with pytest.raises(InvalidInputError, match="more than 20000 values"):
            Asked.parse({"namespace": "demo", "number": flood})
        assert time.process_time() - started < 1


def test_long_names_do_not_make_places_slow():
    started = time.process_time()
    check_json({"a" * 10**6: [0] * 10_000})
    assert time.process_time() - started < 1


def test_many_problems_are_counted_not_listed():
    with pytest.raises(InvalidInputError, match="5000 things are wrong"):
        Asked.parse({"namespace": "demo", **{str(n): 0 for n in range(5000)}})


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc"), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_what_can_be_held_passes(value):
    check_json(value)


@given(JSON, st.sampled_from(["\0", "a\ud800", math.nan, math.inf, -(2**63), 2**63, 10**400]))
def test_what_cannot_is_found_wherever_it_is(value, bad):
    for place in ([value, bad], {"a": {"b": [value, {"c": bad}]}}, bad):
        with pytest.raises(InvalidInputError):
            check_json(place)


def test_depth():
    def nested(depth):
        return [nested(depth - 1)] if depth else 0

    check_json(nested(MAX_DEPTH))
    with pytest.raises(InvalidInputError, match="nested deeper"):
        check_json(nested(MAX_DEPTH + 1))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_refused(body):
    with contextlib.suppress(InvalidInputError):
        check_json(parse_json(body))
