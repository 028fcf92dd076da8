"""Files that a changed .gitignore hides: checks see them, but the commit does not contain them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bridle.loop.effect_results import FileReport
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.own_output import output_files

# Folders that tools make, which ignore rules are for; as regular expressions.
_TOOL_FOLDERS = (
    *(r"node_modules", r"bower_components", r"jspm_packages", r"\.yarn", r"\.pnpm-store", r"\.next", r"\.nuxt"),
    *(r"__pycache__", r"\.?venv", r"site-packages", r"\.eggs", r"[^/]+\.egg-info", r"\.tox", r"\.nox"),
    *(r"Pods", r"\.bundle", r"\.cargo", r"\.gradle", r"\.dart_tool", r"\.terraform", r"\.direnv"),
    *(r"dist-newstyle", r"\.stack-work", r"elm-stuff", r"\.[a-z]+_cache", r"\.cache", r"\.nyc_output"),
    *(r"\.benchmarks", r"\.hypothesis", r"\.idea", r"\.vscode", r"\.ralph", r"\.a5c"),
)
# Folders of dependencies and build output whose names folders with source have too.
_OUTPUT_FOLDERS = (
    *(r"dist", r"build", r"_build", r"out", r"target", r"bin", r"obj", r"vendor", r"deps", r"env"),
    *(r"coverage", r"htmlcov", r"logs?", r"tmp"),
)
_MADE_BY_TOOL = re.compile(
    rf"(?:^|/)(?:{'|'.join(_TOOL_FOLDERS)})(?:/|$)|\.(?:swp|coverage|DS_Store)$|(?:^|/)\.(?:coverage|DS_Store)$"
)
_OUTPUT = re.compile(rf"(?:^|/)(?:{'|'.join(_OUTPUT_FOLDERS)})(?:/|$)|\.(?:o|a|so|class|log|tmp|lock)$|(?:^|/)\.env$")
# What package managers write into such a folder; as glob patterns.
_INSTALLED = ("pyvenv.cfg", "autoload.php", "modules.txt", "bundle/ruby", "*/hex_metadata.config")
_SHOWN = 5


async def changed_ignored_files(context: RunContext, since: float) -> list[str]:
    """Return the ignored files that were written since a moment, without our output and those that tools generate."""
    own = output_files(context.folder)
    names = [name for name in await _ignored(context) if name not in own]
    return [name for name in names if _is_written(context.folder / name, since)]


def _is_written(path: Path, since: float) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_mtime >= since


async def _ignored(context: RunContext) -> list[str]:
    listed = await context.git.names("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return [name for name in listed if not is_generated(name)]


async def newly_ignored_files(context: RunContext, rules: Mapping[str, str]) -> list[FileReport]:
    """Report what each of these .gitignore files hides that its earlier text, given here, did not."""
    hidden: dict[str, list[str]] = {}
    for rule, name in await _rules_that_hide(context, await _ignored(context)):
        earlier = rules.get(rule.source)
        if earlier is not None and not rule.is_in(earlier):
            hidden.setdefault(rule.source, []).append(name)
    return [FileReport(source, _describe(names)) for source, names in sorted(hidden.items())]


async def hidden_since(
    context: RunContext, tree: str, names: Sequence[str], *, but_by: Collection[str] = ()
) -> list[str]:
    """Return those of the ignored files and folders that only rules of later .gitignore files hide.

    `but_by`: .gitignore files of the user that the tree does not have.
    """
    found = [(rule, name) for rule, name in await _rules_that_hide(context, names) if rule.is_in_repository]
    earlier = {}
    for source in {rule.source for rule, _ in found}.difference(but_by):
        code, text = await context.git.run("cat-file", "blob", f"{tree}:{source}", accepts=(0, 128))
        earlier[source] = text if code == 0 else ""
    return [name for rule, name in found if rule.source in earlier and not rule.is_in(earlier[rule.source])]


class _Rule(NamedTuple):
    """A line of a file with ignore rules."""

    source: str
    pattern: str

    @property
    def is_in_repository(self) -> bool:
        return os.path.basename(self.source) == ".gitignore" and not self.source.startswith(("/", "../"))

    def is_in(self, text: str) -> bool:
        return self.pattern in (line.strip() for line in text.splitlines())


async def _rules_that_hide(context: RunContext, names: Sequence[str]) -> list[tuple[_Rule, str]]:
    """Return the rule that hides each of these files and folders."""
    if not names:
        return []
    stdin = b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in names)
    _, text = await context.git.run("check-ignore", "-v", "-z", "--no-index", "--stdin", stdin=stdin, accepts=(0, 1))
    fields = iter(text.split("\0"))
    found = zip(fields, fields, fields, fields, strict=False)
    return [(_Rule(source, pattern), name) for source, _line, pattern, name in found]


def is_generated(name: str) -> bool:
    """Return whether a file is in a place of files that tools generate."""
    return is_made_by_tool(name) or _OUTPUT.search(name) is not None


def is_made_by_tool(name: str) -> bool:
    """Return whether a file is in a place where only tools write, also if an agent made the rule that ignores it."""
    return _MADE_BY_TOOL.search(name) is not None


def is_installed(folder: Path) -> bool:
    """Return whether a folder holds dependencies that a package manager installed."""
    return any(next(folder.glob(pattern), None) is not None for pattern in _INSTALLED)


def _describe(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return f"it now hides {shown}: checks see that, but the commit does not contain it"
