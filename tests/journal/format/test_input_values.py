"""Values from outside: one limit of levels, text as keys, and no lone surrogates."""

from __future__ import annotations

import pytest

from bridle.errors import UsageError
from bridle.journal.format.codec import BadText
from bridle.journal.format.documents import clean_posted
from bridle.journal.format.entries import Posted
from bridle.journal.format.input_values import DEPTH_LIMIT, TooDeep, check_value, parse_input
from tests.journal.fixtures.entry_steps import MOMENT, failure, ok


def nested(levels: int) -> object:
    """Return a value of this many levels, lists and objects in turn."""
    value: object = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize(
    "text", ['{"\\ud83d": ["x\\udcb2", "\\ud83d\\ude00", 1.5]}', b'{"\\ud83d": ["x\\udcb2", "\\ud83d\\ude00", 1.5]}']
)
def test_input_of_a_user_has_no_lone_surrogates(text: str | bytes) -> None:
    assert parse_input(text) == {"\ufffd": ["x\ufffd", "\U0001f600", 1.5]}
    assert parse_input(b'{"a": "\xc3\xa9"}') == {"a": "\xe9"}
    with pytest.raises(BadText):
        parse_input('["\\ud800", NaN]')


def test_two_keys_never_become_one() -> None:
    for keys in (('"\\ud800"', '"\\udfff"'), ('"\\ud800"', '"\ufffd"')):
        with pytest.raises(BadText, match="two keys of an object differ only in lone surrogates"):
            parse_input(f"[{{{keys[0]}: 1, {keys[1]}: 2}}]")
    with pytest.raises(UsageError, match="two keys"):
        clean_posted(ok(dict.fromkeys(("\ud800", "\udfff"))))


@pytest.mark.parametrize(
    "text", ['{"approved": false, "approved": true}', '[{"a": {"b": 1, "approved": 2, "\\u0061pproved": 2}}]']
)
def test_the_same_key_twice_is_refused_by_name(text: str) -> None:
    for given in (text, text.encode()):
        with pytest.raises(BadText, match="an object has the key 'approved' twice"):
            parse_input(given)


@pytest.mark.parametrize("levels", [DEPTH_LIMIT + 1, 494, 600, 900, 5000, 200_000])
def test_text_of_too_many_levels_is_refused(levels: int) -> None:
    assert parse_input("[" * DEPTH_LIMIT + "]" * DEPTH_LIMIT) is not None
    for text in ("[" * levels + "]" * levels, '{"a":' * levels + "1" + "}" * levels):
        with pytest.raises(TooDeep, match=f"nested more than {DEPTH_LIMIT} levels deep"):
            parse_input(text)


def test_a_value_of_too_many_levels_is_refused_also_if_it_contains_itself() -> None:
    check_value(nested(DEPTH_LIMIT))
    circle: list[object] = []
    circle += [circle, circle]
    for value in (nested(DEPTH_LIMIT + 1), circle):
        with pytest.raises(TooDeep):
            check_value(value)
        error = Posted("error", error={"data": value}, started_at=MOMENT, finished_at=MOMENT)
        for posted in (ok(value), error):
            with pytest.raises(UsageError, match="the result of an effect cannot be stored: it is nested"):
                clean_posted(posted)


@pytest.mark.parametrize("key", [1, True, None, 1.5, (1, 2)])
def test_a_key_that_is_not_text_is_refused_by_name(key: object) -> None:
    with pytest.raises(BadText) as caught:
        check_value({"a": [{"b": 1, key: 2}]})
    assert str(caught.value) == f"the key {key!r} is not text, but of type {type(key).__name__}"


def test_a_posted_result_has_no_lone_surrogates() -> None:
    cleaned = clean_posted(ok({"a\udc80": ["\ud800", "\ud83d\ude00", "\U0001f600"]}))
    assert cleaned.value == {"a\ufffd": ["\ufffd", "\U0001f600", "\U0001f600"]}
    assert clean_posted(failure("E", "\ud800")).error == {"name": "E", "message": "\ufffd"}
