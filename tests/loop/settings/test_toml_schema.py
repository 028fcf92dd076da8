"""The schema of bridle.toml and the reader of bridle.toml agree."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from bridle.loop.settings.bridle_toml import read_text
from bridle.loop.settings.model import KEYS
from bridle.loop.settings.toml_schema import settings_schema

VALID = jsonschema_rs.validator_for(settings_schema())
ROOT = Path(__file__).parents[3]


def is_accepted(text: str) -> bool:
    return read_text(text, Path("bridle.toml"), is_repository=False)[1] == []


def written(name: str, value: str) -> str:
    table, dot, key = name.rpartition(".")
    return f"[{table}]\n{key} = {value}\n" if dot else f"{name} = {value}\n"


@pytest.mark.parametrize("name", KEYS)
def test_every_key_has_its_schema_and_its_default_is_valid(name: str) -> None:
    text = written(name, KEYS[name].kind.show(KEYS[name].default))
    assert KEYS[name].kind.schema
    assert is_accepted(text)
    assert VALID.is_valid(tomllib.loads(text))


VALUES = (
    "true",
    "-1",
    "0",
    "7",
    "0.5",
    '""',
    '"x"',
    '"90m"',
    '["a"]',
    "[]",
    "[1]",
    '"claude"',
    '"claude,codex"',
    "{}",
    '"off"',
)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", KEYS)
def test_what_the_schema_refuses_the_reader_refuses(name: str, value: str) -> None:
    text = written(name, value)
    if not VALID.is_valid(tomllib.loads(text)):
        assert not is_accepted(text)


@pytest.mark.parametrize(
    "text",
    ["max_cost = true", 'reasoning = "huge"', "parallel = 0", "no_such = 1", "[sandbox]\nno_such = 1", "checks = 3"],
)
def test_an_editor_marks_what_a_run_would_refuse(text: str) -> None:
    assert not is_accepted(text)
    assert not VALID.is_valid(tomllib.loads(text))


def test_a_file_may_name_its_schema() -> None:
    for text in ("#:schema ./bridle.schema.json\nparallel = 2\n", '"$schema" = "./bridle.schema.json"\nparallel = 2\n'):
        values, problems = read_text(text, Path("bridle.toml"), is_repository=True)
        assert (values, problems) == ({"parallel": 2}, [])
        assert VALID.is_valid(tomllib.loads(text))


def test_the_example_of_the_page_is_valid() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    document: dict[str, Any] = tomllib.loads(page.split("```toml\n")[1].split("```")[0])
    assert VALID.is_valid(document)
