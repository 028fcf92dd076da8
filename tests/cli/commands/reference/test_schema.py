"""`bridle schema`: printed, written, and never over another file."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest

from tests.fixtures.bridle_program import run_bridle


@pytest.mark.parametrize("name", ["bridle.toml", "prd.json"])
def test_a_schema_is_printed_and_is_one(name: str) -> None:
    done = run_bridle("schema", name)
    document = json.loads(done.stdout)
    jsonschema_rs.validator_for(document)
    assert document["$schema"].endswith("/schema#")
    assert run_bridle("schema", name, "--json").stdout == done.stdout


def test_a_schema_is_written_over_an_older_one_and_over_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "bridle.schema.json"
    assert run_bridle("schema", "bridle.toml", "--write", target).returncode == 0
    target.write_text(json.dumps({**json.loads(target.read_text()), "properties": {}}))
    done = run_bridle("schema", "bridle.toml", "--write", target, "--json")
    assert json.loads(done.stdout) == {"schema": "bridle.toml", "written": str(target)}
    assert "parallel" in json.loads(target.read_text())["properties"]
    for text in ("{", "[]", '{"title": "mine"}'):
        target.write_text(text)
        done = run_bridle("schema", "bridle.toml", "--write", target)
        assert done.returncode == 2
        assert target.read_text() == text


def test_another_name_is_refused() -> None:
    assert run_bridle("schema", "package.json").returncode == 2
