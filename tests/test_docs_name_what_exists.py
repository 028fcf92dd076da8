"""Flags, variables, settings and names of modules that a page mentions exist; commands are in test_remedies.py."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridle.cli.command_table import USER_COMMANDS
from bridle.loop.settings.model import KEYS
from tests.fixtures.documented import FLAG, SOURCE, all_flags, pages

SOURCES = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
# Flags of other programs; in migrate.md the first column of a table has those of another tool.
FOREIGN_FLAGS = {
    "dialects": {"--stream-partial-output"},
    "endpoints": {"--jinja", "--enable-auto-tool-choice"},
    "repositories": {"--mirror", "--separate-git-dir", "--shared"},
    "security": {"--reference", "--require-hashes", "--passWithNoTests"},
}
# Of tables in `bridle.toml`, which a page names without their table.
NESTED_KEYS = {name.rpartition(".")[2] for name in KEYS}
NO_MODULES = re.compile(r"bridle\.(?:toml|schema\.json|pack|chain|lock)\b")


def spans(text: str) -> Iterator[str]:
    """Yield what is in backticks, but not in a block or in the first column of migrate.md's tables."""
    is_block = False
    for line in text.splitlines():
        is_block ^= line.lstrip().startswith("```")
        if not is_block:
            yield from re.findall(r"`([^`]+)`", line)


def own_text(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^\|[^|]*\|", "|", text, flags=re.MULTILINE) if page.stem == "migrate" else text


def unknown_flags(text: str) -> list[str]:
    named = [flag for span in spans(text) if span.startswith("-") for flag in FLAG.findall(span)]
    return [flag for flag in named if flag not in all_flags()]


def unknown_variables(text: str) -> list[str]:
    prose = re.sub(r"```python\n.*?```", "", text, flags=re.DOTALL)  # a program has names of its own
    return [name for name in re.findall(r"\bBRIDLE_[A-Z_]+\b", prose) if name not in SOURCES]


def unknown_settings(text: str) -> list[str]:
    """List the keys of `key = "value"`, with or without the table that they are in."""
    keys = [found[1] for span in spans(text) if (found := re.match(r"([a-z_.]+) = \S", span))]
    return [key for key in keys if key not in KEYS and key not in NESTED_KEYS]


def unknown_names(text: str) -> list[str]:
    named = [name for span in spans(text) for name in re.findall(r"\bbridle(?:\.[A-Za-z_]+)+", span)]
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    imports = [found for block in blocks for found in re.findall(r"^from (bridle[\w.]*) import ([\w, ]+)", block, re.M)]
    named += [f"{module}.{name.strip()}" for module, names in imports for name in names.split(",")]
    return [name for name in named if not NO_MODULES.match(name) and not _exists(name)]


def _exists(name: str) -> bool:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.stem)
def test_what_a_page_names_exists(page: Path) -> None:
    text = own_text(page)
    flags = set(unknown_flags(text)) - FOREIGN_FLAGS.get(page.stem, set())
    variables = [] if page.stem == "CONTRIBUTING" else unknown_variables(text)  # those of the tests are there too
    assert (flags, variables, unknown_settings(text), unknown_names(text)) == (set(), [], [], [])


def test_every_command_for_users_is_in_a_page_that_is_written_by_hand() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    names = [command.name for command in USER_COMMANDS if command.module is not None and command.name != "agent"]
    assert [name for name in names if not re.search(rf"\bbridle {name}\b", text)] == []


def test_the_flags_of_others_are_named_where_the_table_says() -> None:
    for page in pages():
        assert FOREIGN_FLAGS.get(page.stem, set()) <= set(unknown_flags(own_text(page)))


def test_what_does_not_exist_is_found() -> None:
    assert unknown_flags("Use `--tick` or `--tock 3`.") == ["--tock"]
    assert unknown_variables("Set `BRIDLE_HOME`, `BRIDLE_NO_SUCH_THING=1`.") == ["BRIDLE_NO_SUCH_THING"]
    assert unknown_settings('`tick = true`, `network = "none"`, `tock = 1`') == ["tock"]
    text = "`bridle.run`, `bridle.toml`, `bridle.run.nothing`\n```python\nfrom bridle import Stage, Nobody\n```"
    assert unknown_names(text) == ["bridle.run.nothing", "bridle.Nobody"]
