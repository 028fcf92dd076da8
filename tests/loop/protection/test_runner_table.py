"""The table of programs that checks run is the one that users read."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.loop.protection.runner_table import ALIASES, RUNNERS, Runner

DOCS = Path(__file__).parents[3] / "docs" / "security.md"


def row(name: str, runner: Runner) -> str:
    """Return the row of a program in the documentation."""
    tables = [f"`[{runner.toml}]` of pyproject.toml"] if runner.toml else []
    tables += [f"`[{section}]` of {file}" for file, section in runner.ini]
    tables += [f"`{runner.package_key}` of package.json"] if runner.package_key else []
    settings = ", ".join([*(f"`{file}`" for file in runner.files), *tables])
    closed = ", ".join(f"`{file}`" for file in runner.closed)
    parts = [file.partition("#") for file in runner.definitions]
    reported = ", ".join(f"`{key}` of {file}" if key else f"`{file}`" for file, _, key in parts)
    return f"| `{name}` | {settings or '–'} | {closed or '–'} | {reported or '–'} |"


@pytest.mark.parametrize("name", sorted(RUNNERS))
def test_the_documentation_lists_it(name: str) -> None:
    assert row(name, RUNNERS[name]) in DOCS.read_text(encoding="utf-8").splitlines()


def test_another_name_of_a_program_leads_to_one_in_the_table() -> None:
    assert set(ALIASES.values()) - {"make", "python"} <= RUNNERS.keys()
