"""The canonical form: one text for each value, and the value back from it."""

import math
import struct
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collegium.core import InvalidInputError
from collegium.store.ledger.canonical import (
    MAX_DEPTH,
    MAX_PAYLOAD,
    canonical_payload,
    read_payload,
    time_text,
)

TEXTS = st.text(st.characters(exclude_categories=("Cs",)))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
PAYLOADS = st.dictionaries(TEXTS, VALUES, max_size=5)


def exact(value):
    """Return something that is equal only for values equal in type and in every bit."""
    if isinstance(value, float):
        return "float", struct.pack(">d", value)
    if isinstance(value, list):
        return "list", [exact(item) for item in value]
    if isinstance(value, dict):
        return "dict", sorted((key, exact(item)) for key, item in value.items())
    return type(value).__name__, value


@given(PAYLOADS)
def test_the_value_comes_back_in_every_bit(payload):
    text = canonical_payload(payload)
    assert exact(read_payload(text)) == exact(payload)
    assert canonical_payload(read_payload(text)) == text


@given(PAYLOADS, st.randoms())
def test_the_order_in_which_keys_were_put_does_not_matter(payload, random):
    keys = list(payload)
    random.shuffle(keys)
    assert canonical_payload({key: payload[key] for key in keys}) == canonical_payload(payload)


@given(PAYLOADS, PAYLOADS)
def test_different_values_have_different_texts(one, other):
    assert (canonical_payload(one) == canonical_payload(other)) == (exact(one) == exact(other))


@given(st.datetimes(min_value=datetime(1000, 1, 1)), st.integers(-1439, 1439))  # noqa: DTZ001
def test_a_time_has_one_text_in_all_time_zones(at, minutes):
    utc = at.replace(tzinfo=UTC)
    try:
        there = utc.astimezone(timezone(timedelta(minutes=minutes)))
    except OverflowError:
        return
    assert time_text(there) == time_text(utc)
    assert datetime.fromisoformat(time_text(utc)) == utc
    assert canonical_payload({"at": there}) == canonical_payload({"at": time_text(utc)})


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ({"b": 1, "a": [1.0, -0.0, 1e-7, 1e21]}, '{"a":[1.0,-0.0,1e-07,1e+21],"b":1}'),
        ({"b": True, "a": None}, '{"a":null,"b":true}'),
        ({"é": '\u2028/"\\\n\x00'}, '{"é":"\u2028/\\"\\\\\\n\\u0000"}'),
        ({"\uffff": 1, "\U00010000": 2}, '{"\uffff":1,"\U00010000":2}'),
        ({"t": (1, 2)}, '{"t":[1,2]}'),
        ({"n": 2**70}, '{"n":1180591620717411303424}'),
    ],
)
def test_the_form_as_documented(payload, text):
    assert canonical_payload(payload) == text


def nested(depth):
    payload = {}
    for _ in range(depth):
        payload = {"a": payload}
    return payload


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"a": {"b": [0, math.inf]}}, r"payload\.a\.b\[1\]: no canonical form"),
        ({"a": {"b": "\ud800"}}, r"payload\.a\.b: no canonical form"),
        ({"a": [10**5000]}, r"payload\.a\[0\]: no canonical form"),
        ({"a": datetime.max.replace(tzinfo=timezone(-timedelta(hours=1)))}, "out of range in UTC"),
        ({"a": {"b": {3: 1}}}, r"payload\.a\.b: the key 3 is no string"),
        ({"a": [b""]}, r"payload\.a\[0\]: bytes has no canonical form"),
        ({"a": datetime(2026, 1, 1)}, "a time needs a time zone"),  # noqa: DTZ001
        ({"\ud800": 1}, "payload: a key: no canonical form"),
        (nested(MAX_DEPTH), "nested more than 64 deep"),
        ({"a": "x" * MAX_PAYLOAD}, "store the content elsewhere"),
    ],
)
def test_what_has_no_canonical_form(payload, message):
    with pytest.raises(InvalidInputError, match=message):
        canonical_payload(payload)


def test_the_deepest_payload_is_read_again():
    deepest = nested(MAX_DEPTH - 1)
    assert read_payload(canonical_payload(deepest)) == deepest
