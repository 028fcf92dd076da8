from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.errors import UsageError
from bridle.ground import ids

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=300)


def test_a_new_id_is_a_ulid_that_check_id_accepts_and_no_two_are_alike() -> None:
    made = {ids.new_id() for _ in range(1000)}
    assert len(made) == 1000
    assert all(re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{26}", ids.check_id(one, what="id")) for one in made)


def test_a_token_has_128_bits_in_hexadecimal_digits() -> None:
    tokens = {ids.new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(re.fullmatch(r"[0-9a-f]{32}", token) for token in tokens)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is empty"),
        ("a/b", "path separator"),
        ("a\\b", "path separator"),
        ("..", "'..'"),
        ("a..b", "'..'"),
        ("a\0b", "control character"),
        ("a\nb", "control character"),
        ("a\u202eb", "control character"),
        ("a\ud800", "control character"),
        (".hidden", "dot or a dash"),
        ("-rf", "dot or a dash"),
        ("a ", "a space"),
        ("x" * 129, "longer than 128"),
        ("𝔵" * 60, "longer than 200 bytes"),
    ],
)
def test_an_unsafe_id_is_refused_and_the_reason_reported(text: str, fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        ids.check_id(text, what="task id")
    assert fault in caught.value.message
    assert caught.value.message.startswith("task id ")
    caught.value.message.encode("utf-8")


@pytest.mark.parametrize("text", ["T-1", "0c3c1a2e-7b8f-4a51-9d57-3f0c5d7f3f11", "x" * 128, "größe", "a b"])
def test_a_usual_id_comes_back_unchanged(text: str) -> None:
    assert ids.check_id(text, what="id") == text


@given(ANY_TEXT)
def test_an_accepted_id_never_leaves_its_folder(text: str) -> None:
    try:
        accepted = ids.check_id(text, what="id")
    except UsageError:
        return
    folder = Path("/some/folder")
    assert Path(os.path.normpath(folder / accepted)).parent == folder
    assert len(os.fsencode(accepted)) <= 255


@given(ANY_TEXT, st.integers(min_value=1, max_value=80))
def test_a_safe_name_is_a_valid_id_of_safe_letters_within_the_limit(text: str, limit: int) -> None:
    name = ids.safe_name(text, limit=limit)
    assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
    assert len(name) <= limit
    assert ids.check_id(name, what="name") == name


def test_a_title_stays_readable_as_a_name() -> None:
    assert ids.safe_name("Fix the  café's /login page!") == "Fix-the-cafe-s-login-page"
    assert ids.safe_name("../../etc/passwd") == "etc-passwd"
    assert ids.safe_name("日本") == "unnamed"
