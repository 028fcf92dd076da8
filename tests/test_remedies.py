"""Every command and flag that a message or a page advises exists, by the command table and bridle-agent's flags."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from bridle.agent.acp import acp_command
from bridle.agent.command_line import auth_command
from bridle.cli import command_table
from tests.fixtures.documented import FLAG, ROOT, SOURCE, all_flags, command_of, options, pages

# `bridle resume RUN --max-cost 40`, in a sentence or in backticks; what a placeholder fills in is `{}`.
COMMAND = re.compile(r"(`?)(?<![\w./-])(bridle|bridle-agent) ([a-z][\w:-]*)([^`;\n]*)")
# Flags of other programs that remedies advise, each with its command.
FOREIGN = re.compile(r"\b(?:git|claude|chmod|pip|npm) [^`;\n]*")
# A command in a page: in backticks, or on a line of its own in a block of code.
IN_BACKTICKS = re.compile(r"`(bridle(?:-agent)? [a-z][^`]*)`")
AT_START = re.compile(r"^\s*(?:\$ )?(bridle(?:-agent)? [a-z][\w:]*(?:\s+[^#|]*)?)(?:#.*)?$")
# Words after a program's name in prose; in backticks nothing is prose.
PROSE = frozenset({"and", "by", "has", "into", "needs"})


class Advice(NamedTuple):
    """A text that a user may read, and where it is."""

    place: str
    text: str
    is_remedy: bool


def advice(path: Path) -> Iterator[Advice]:
    """Yield each string of a module but its docstrings; placeholders of f-strings become `{}`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    remedies = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "remedy"
        for part in ast.walk(node.value)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
    for node in ast.walk(tree):
        if id(node) not in skipped and (text := _text(node)):
            place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            yield Advice(place, text, id(node) in remedies)


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def faults(found: Advice) -> list[str]:
    """List the commands and flags of a text that do not exist."""
    problems = []
    for quote, program, name, rest in COMMAND.findall(found.text):
        if name in PROSE and not quote:
            continue
        problems += _agent_faults(name) if program == "bridle-agent" else _command_faults(name, rest)
    if found.is_remedy:
        ours = COMMAND.sub("", FOREIGN.sub("", found.text))
        problems += [f"no command has the flag {flag}" for flag in FLAG.findall(ours) if flag not in all_flags()]
    return problems


def _command_faults(name: str, rest: str) -> list[str]:
    name = name.rstrip(":")
    command = command_table.COMMANDS.get(name)
    if command is None:
        return [f"there is no command `bridle {name}`"]
    if command.module is None:
        return [f"`bridle {name}` is not built"]
    group, word = command_of(name), (rest.split() or [""])[0]
    if isinstance(group, click.Group) and re.fullmatch(r"[a-z]+", word) and word not in group.commands:
        return [f"there is no command `bridle {name} {word}`"]
    return [f"`bridle {name}` has no flag {flag}" for flag in FLAG.findall(rest) if flag not in options(name)]


def _agent_faults(name: str) -> list[str]:
    usages = {"auth": auth_command.USAGE, "acp": acp_command.USAGE}
    exists = f"bridle-agent {name}" in usages.get(name, "")
    return [] if exists else [f"there is no command `bridle-agent {name}`"]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_what_a_message_advises_exists(path: Path) -> None:
    wrong = [f"{found.place}: {fault}" for found in advice(path) for fault in faults(found)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.stem)
def test_what_a_page_advises_exists(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    commands = [
        Advice(f"{path.name}:{number}", f"`{command}`", is_remedy=False)
        for number, line in enumerate(lines, start=1)
        for command in [*IN_BACKTICKS.findall(line), *AT_START.findall(line)]
    ]
    wrong = [f"{found.place}: {fault}" for found in commands for fault in faults(found)]
    assert not wrong, "\n".join(wrong)


def test_the_pages_are_searched_for_commands() -> None:
    text = "Use `bridle run --max-cost 3`.\nbridle status\n  $ bridle-agent auth login\nsee bridle for more"
    found = [
        command for line in text.splitlines() for command in (*IN_BACKTICKS.findall(line), *AT_START.findall(line))
    ]
    assert found == ["bridle run --max-cost 3", "bridle status", "bridle-agent auth login"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Run `bridle mend` first.", "there is no command `bridle mend`"),
        ("Then: bridle stop --auth key", "`bridle stop` has no flag --auth"),
        ("Use --agent or --unheard-of.", "no command has the flag --unheard-of"),
        ("Run `bridle-agent login`.", "there is no command `bridle-agent login`"),
        ("Run `bridle plugin setup`.", "there is no command `bridle plugin setup`"),
        ("See `bridle fleet last`.", "`bridle fleet` is not built"),
    ],
)
def test_what_does_not_exist_is_found(text: str, fault: str) -> None:
    assert faults(Advice("a.py:1", text, is_remedy=True)) == [fault]


@pytest.mark.parametrize(
    "text",
    [
        "Continue with `bridle resume {} --max-cost 40`.",
        "Run `git checkout --ours {}`.",
        "Run `bridle-agent auth login`.",
        "Run `bridle plugin install --dir {}`.",
    ],
)
def test_what_exists_is_not_found(text: str) -> None:
    assert faults(Advice("a.py:1", text, is_remedy=True)) == []
