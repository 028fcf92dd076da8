"""Files that a changed .gitignore hides: checks see them, but the commit does not contain them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from bridle.loop.effect_results import FileReport
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.own_output import output_files

# Folders of dependencies, build output and caches, which ignore rules are for; as regular expressions.
_GENERATED_FOLDERS = (
    *(r"node_modules", r"bower_components", r"jspm_packages", r"\.yarn", r"\.pnpm-store", r"\.next", r"\.nuxt"),
    *(r"__pycache__", r"\.?venv", r"env", r"site-packages", r"\.eggs", r"[^/]+\.egg-info", r"\.tox", r"\.nox"),
    *(r"dist", r"build", r"_build", r"out", r"target", r"bin", r"obj", r"dist-newstyle", r"\.stack-work", r"elm-stuff"),
    *(r"vendor", r"deps", r"Pods", r"\.bundle", r"\.cargo", r"\.gradle", r"\.dart_tool", r"\.terraform", r"\.direnv"),
    *(r"coverage", r"htmlcov", r"\.nyc_output", r"logs?", r"tmp", r"\.[a-z]+_cache", r"\.cache"),
    *(r"\.idea", r"\.vscode", r"\.ralph", r"\.a5c"),
)
_GENERATED = re.compile(
    rf"(?:^|/)(?:{'|'.join(_GENERATED_FOLDERS)})(?:/|$)"
    r"|\.(?:o|a|so|class|log|tmp|swp|lock|coverage|DS_Store)$|(?:^|/)\.(?:coverage|DS_Store|env)$"
)
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
    names = await _ignored(context)
    if not names:
        return []
    stdin = b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in names)
    _, text = await context.git.run("check-ignore", "-v", "-z", "--no-index", "--stdin", stdin=stdin, accepts=(0, 1))
    fields = text.split("\0")
    hidden: dict[str, list[str]] = {}
    for source, _line, pattern, name in zip(*[iter(fields)] * 4, strict=False):
        earlier = rules.get(source)
        if earlier is not None and pattern not in (line.strip() for line in earlier.splitlines()):
            hidden.setdefault(source, []).append(name)
    return [FileReport(source, _describe(names)) for source, names in sorted(hidden.items())]


def is_generated(name: str) -> bool:
    """Return whether a file is in a place of files that tools generate."""
    return _GENERATED.search(name) is not None


def _describe(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return f"it now hides {shown}: checks see that, but the commit does not contain it"
