"""The syntax of permission rules: `Tool`, `Tool(specifier)`, in lists with commas or spaces."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import msgspec

# Former tool names that clients still pass.
ALIASES: Final = {"Task": "Agent", "BashOutput": "TaskOutput", "KillShell": "TaskStop"}

# A longer rule is a mistake, and would make matching slow.
RULE_LIMIT_CHARACTERS: Final = 10_000

_TOOL_NAME = re.compile(r"[A-Za-z*][A-Za-z0-9_.*:-]*\Z")


class Rule(msgspec.Struct, frozen=True):
    """One rule: a tool, and the calls of it that are meant."""

    tool: str
    """The tool's current name; `*` in it matches anything."""
    specifier: str | None
    """The text in the parentheses; None: every call."""
    source: str = "flag"
    """Its source: `flag`, `user`, `project`, `local`, `settings` (the flag) or `managed`."""

    def __str__(self) -> str:
        return self.tool if self.specifier is None else f"{self.tool}({self.specifier})"


def canonical(tool: str) -> str:
    """Return the current name of a tool."""
    return ALIASES.get(tool, tool)


def parse_rules(texts: Iterable[str]) -> list[Rule]:
    """Return the valid rules among some texts."""
    return [rule for text in texts if (rule := parse_rule(text)) is not None]


def parse_rule(text: str, source: str = "flag") -> Rule | None:
    """Parse a rule; return None if the text is invalid."""
    text = text.strip()
    if len(text) > RULE_LIMIT_CHARACTERS or "\0" in text:
        return None
    name, opening, rest = text.partition("(")
    if not _TOOL_NAME.match(name) or (opening and not rest.endswith(")")):
        return None
    specifier = rest[:-1].strip() if opening else None
    return Rule(canonical(name), None if specifier in (None, "", "*") else specifier, source)


def split_list(values: Iterable[str]) -> list[str]:
    """Split a flag's values into rules, at commas and spaces outside parentheses."""
    return [item for value in values for item in _split(value)]


def names_tool(rule: Rule, tool: str) -> bool:
    """Return whether a rule is about this tool (some or all of its calls)."""
    if rule.tool == tool:
        return True
    if rule.tool.startswith("mcp__") and rule.tool.count("__") == 1:
        return tool.startswith(f"{rule.tool}__")  # a server's name alone means all its tools
    return "*" in rule.tool and _name_pattern(rule.tool).fullmatch(tool) is not None


@lru_cache(maxsize=256)
def _name_pattern(name: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in name.split("*")))


def _split(value: str) -> list[str]:
    items: list[str] = []
    depth, start = 0, 0
    for place, letter in enumerate(value):
        if letter == "(":
            depth += 1
        elif letter == ")":
            depth = max(0, depth - 1)
        elif depth == 0 and (letter == "," or letter.isspace()):
            items.append(value[start:place])
            start = place + 1
    items.append(value[start:])
    return [item for item in (item.strip() for item in items) if item]
