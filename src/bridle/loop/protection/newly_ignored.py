"""Files that a changed .gitignore hides: they are there for the checks, and not in the commit."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bridle.loop.protection.reports import Report
from bridle.loop.working_copy.run_context import RunContext

# What tools write and nobody commits; hiding it is what such rules are for.
_MADE_BY_TOOLS = re.compile(
    r"(?:^|/)(?:node_modules|__pycache__|\.?venv|env|dist|build|out|target|vendor|coverage|htmlcov|logs?|tmp"
    r"|\.[a-z]+_cache|\.cache|\.tox|\.nox|\.idea|\.vscode|\.next|\.nuxt|\.gradle|[^/]+\.egg-info|\.ralph|\.a5c)(?:/|$)"
    r"|\.(?:pyc|pyo|o|a|so|class|log|tmp|swp|lock|coverage|DS_Store)$|(?:^|/)\.(?:coverage|DS_Store|env)$"
)
_SHOWN = 5


async def hidden_files(context: RunContext, rules: Mapping[str, str]) -> list[Report]:
    """What each of these .gitignore files hides now and did not before, when they were the texts given."""
    listed = await context.git.names("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    names = [name for name in listed if not _MADE_BY_TOOLS.search(name)]
    if not names:
        return []
    given = b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in names)
    _, text = await context.git.run("check-ignore", "-v", "-z", "--no-index", "--stdin", given=given, accepts=(0, 1))
    fields = text.split("\0")
    hidden: dict[str, list[str]] = {}
    for source, _line, pattern, name in zip(*[iter(fields)] * 4, strict=False):
        known = rules.get(source)
        if known is not None and pattern not in (line.strip() for line in known.splitlines()):
            hidden.setdefault(source, []).append(name)
    return [Report(source, _words(names)) for source, names in sorted(hidden.items())]


def _words(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return f"it hides {shown} now: checks see that, and the commit does not hold it"
