"""The trie allows exactly the choices, decides each, and stops as early as it can."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collegium.core import InvalidInputError
from collegium.llm.choices import ChoiceCursor, ChoiceEncoder, TokenIds

END = -1

paths_strategy = st.lists(
    st.lists(st.integers(0, 3), max_size=6).map(tuple), min_size=1, max_size=12, unique=True
)


def walk(paths: list[TokenIds], pick: st.DataObject) -> tuple[ChoiceCursor, list[int]]:
    """Follow allowed tokens at random until the choice is decided."""
    cursor, taken = ChoiceCursor(paths), []
    while cursor.decided is None:
        options = cursor.options
        allowed = [*options.tokens, *([END] if options.may_end else [])]
        token = pick.draw(st.sampled_from(sorted(allowed)))
        taken.append(token)
        cursor.advance([token])
    return cursor, taken


@given(paths_strategy, st.data())
def test_every_walk_ends_in_the_choice_it_spelled(
    paths: list[TokenIds], pick: st.DataObject
) -> None:
    cursor, taken = walk(paths, pick)
    assert cursor.decided is not None
    chosen = paths[cursor.decided]
    spelled = tuple(token for token in taken if token != END)
    assert chosen[: len(spelled)] == spelled
    if END in taken:
        assert chosen == spelled


@given(paths_strategy)
def test_every_choice_can_be_reached_and_needs_no_token_after_it_is_unique(
    paths: list[TokenIds],
) -> None:
    for index, path in enumerate(paths):
        cursor = ChoiceCursor(paths)
        for depth, token in enumerate((*path, END)):
            alone = sum(other[:depth] == path[:depth] for other in paths) == 1
            assert (cursor.decided == index) == alone
            if alone:
                break
            assert token in cursor.options.tokens or (token == END and cursor.options.may_end)
            cursor.advance([token])
        assert cursor.decided == index


def test_shorter_choice_is_ended_by_a_terminal_token() -> None:
    cursor = ChoiceCursor([(7, 1), (7, 1, 2)])
    cursor.advance([7, 1])
    assert cursor.decided is None
    assert cursor.options == ((2,), True)
    cursor.advance([END])
    assert cursor.decided == 0
    assert cursor.options.tokens == ()


def test_path_that_leaves_all_choices_decides_nothing() -> None:
    cursor = ChoiceCursor([(1, 2), (1, 3)])
    cursor.advance([1, 9, 2])
    assert cursor.decided is None


def test_no_choices_and_equal_choices_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least one"):
        ChoiceCursor([])
    with pytest.raises(InvalidInputError, match="choices 0 and 2"):
        ChoiceCursor([(1,), (2,), (1,)])


def test_encoder_tokenises_each_text_once() -> None:
    seen: list[str] = []

    def encode(text: str) -> list[int]:
        seen.append(text)
        return [ord(c) for c in text]

    encoder = ChoiceEncoder(encode)
    assert encoder.paths(["ab", "b"]) == [(97, 98), (98,)]
    assert encoder.paths(["b", "ab"]) == [(98,), (97, 98)]
    assert seen == ["ab", "b"]
