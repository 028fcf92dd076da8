"""Secrets do not pass."""

from __future__ import annotations

import pytest

from bridle.wire.mask import Mask, secret_values

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("key sk-ant-api03-AAAABBBBCCCCDDDD end", "key *** end"),
        ("sk-proj-0123456789abcdef0123", "***"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "***"),
        *((f"gh{kind}_0123456789abcdefghijABCDEFGHIJ012345", "***") for kind in "osur"),
        ("github_pat_11ABCDEFG0123456789abcdef", "***"),
        ("AKIAIOSFODNN7EXAMPLE", "***"),
        ("ASIAIOSFODNN7EXAMPLE", "***"),
        ("authorization: bearer abc.def-ghi_jkl", "authorization: bearer ***"),
        ("Authorization: Bearer abc.def-ghi_jkl", "Authorization: Bearer ***"),
        (f"before {KEY} after", "before *** after"),
        ("-----BEGIN PRIVATE KEY-----\nMIIcut off", "***"),
        ("task-management and risk-averse", "task-management and risk-averse"),
        ("the bearer of news", "the bearer of news"),
    ],
)
def test_patterns_of_secrets_are_masked_and_ordinary_text_is_not(text: str, masked: str) -> None:
    assert Mask().apply(text) == masked


def test_known_values_are_masked_longest_first_and_short_ones_left_alone() -> None:
    mask = Mask(["secret", "secret-and-more", "short", "a.c*e+"])
    assert mask.apply("secret-and-more, secret, short, a.c*e+, abcde") == "***, ***, short, ***, abcde"


@pytest.mark.parametrize("value", ["hunter2x\r", "hunter2x\n", "  hunter2x "])
def test_white_space_around_a_value_is_no_part_of_the_secret(value: str) -> None:
    assert Mask([value]).apply("a hunter2x b hunter2x\n") == "a *** b ***\n"
    assert Mask(["     ab     "]).apply("ab") == "ab"


def test_secret_values_are_chosen_by_the_names_of_variables() -> None:
    environment = {"API_KEY": "one", "my_token": "two", "DB_PASSWORD": "three", "A_SECRET_B": "four", "HOME": "/root"}
    assert secret_values(environment) == ["one", "two", "three", "four"]


def test_a_field_keeps_its_name_although_a_variable_has_it_as_its_value() -> None:
    mask = Mask(["summary", "hunter2x"])
    value = {"summary": "a summary", "rows": [{"hunter2x": "hunter2x"}], "sk-ant-api03-AAAABBBBCCCCDDDD": 1}
    assert mask.apply_to_json(value) == {"summary": "a ***", "rows": [{"hunter2x": "***"}], "***": 1}
