"""A table of files that programs of the user run by themselves, or read for commands to run; in any folder."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence

from bridle.loop.text.path_patterns import matches

# The program that runs each file, or reads it for commands to run. `*` is only in the last part of a name.
FILES: Mapping[str, tuple[str, ...]] = {
    "direnv": (".envrc", ".envrc.local", ".envrc.private", ".direnv/*"),
    "your shell": (".autoenv", ".autoenv.zsh", ".env.zsh", ".rvmrc", ".shadowenv.d/*"),
    "mise": (
        *("mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".tool-versions"),
        ".mise/config.toml",
    ),
    "your editor": (
        *(".vscode/tasks.json", ".vscode/settings.json", ".vscode/launch.json", ".vscode/mcp.json", "*.code-workspace"),
        *(".idea/workspace.xml", ".idea/watcherTasks.xml", ".idea/runConfigurations/*", ".run/*", ".zed/tasks.json"),
        *(".zed/settings.json", ".fleet/run.json", ".helix/config.toml", ".helix/languages.toml", "*.sublime-project"),
        *(".exrc", ".vimrc", ".lvimrc", ".nvimrc", ".nvim.lua", ".dir-locals.el", ".dir-locals-2.el"),
        *(".devcontainer.json", ".devcontainer/devcontainer.json"),
    ),
    "your agent": (
        *(".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/*", ".claude/commands/*", ".mcp.json"),
        *(".claude/agents/*", ".cursor/mcp.json", ".cursor/hooks.json", ".gemini/settings.json", ".codex/config.toml"),
        *("opencode.json", "opencode.jsonc", ".opencode/plugin/*", ".opencode/opencode.json", ".aider.conf.yml"),
        *(".kiro/settings/mcp.json", ".kiro/hooks/*", ".roo/mcp.json", ".windsurf/mcp.json", ".windsurf/hooks.json"),
    ),
    "git": (
        *(".husky/*", ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", "lefthook-local.yml"),
        *("lefthook-local.yaml", ".lefthook.yml", ".lefthook-local.yml"),
    ),
    "your debugger": (".gdbinit", ".lldbinit", ".pdbrc", ".byebugrc"),
    "your interpreter": (".Rprofile", ".RData", ".irbrc", ".pryrc", ".iex.exs", ".ghci", ".ocamlinit"),
    "your package manager": (".npmrc", ".yarnrc.yml", ".yarnrc", ".pnpmfile.cjs"),
    "your shell, when you activate it": (".venv/bin/activate*", "venv/bin/activate*"),
}
# Made anew by ordinary work, with all of their folder: only a change of what existed counts.
MADE_AGAIN = FILES["your shell, when you activate it"]
# Folders of installed packages and of build output, which have such files of their own.
NOT_SEARCHED = frozenset(
    {"node_modules", ".venv", "venv", ".tox", ".nox", "site-packages", "vendor", "target", "build", "dist"}
)

_SUFFIXES = tuple(sorted(name[1:] for names in FILES.values() for name in names if name.startswith("*")))
_BY_FIRST_PART: dict[str, list[str]] = {}
for _names in FILES.values():
    for _name in _names:
        if not _name.startswith("*"):
            _BY_FIRST_PART.setdefault(_name.partition("/")[0], []).append(_name)


def may_be_startup(name: str) -> bool:
    """Return whether an entry of a folder may be such a file, or a folder with such files."""
    return name in _BY_FIRST_PART or name.endswith(_SUFFIXES)


def existing(top: str, folder: str, name: str) -> Iterator[str]:
    """Yield the files of the table that begin with this entry of a folder, relative to the top."""
    for pattern in _BY_FIRST_PART.get(name, (name,)):
        yield from matching(top, f"{folder}/{pattern}" if folder else pattern)


def matching(top: str, pattern: str) -> list[str]:
    """Return the files of a pattern; `*` is only in the last part of it.

    A linked folder on the way is named itself, and the files where it leads to, if that is in the same top folder.
    """
    named, _, last = pattern.rpartition("/")
    folder, links = _without_links(top, named)
    if folder is None:
        return links
    prefix = f"{folder}/" if folder else ""
    if "*" not in last:
        return [*links, *([f"{prefix}{last}"] if _is_file(f"{top}/{prefix}{last}") else ())]
    try:
        names = sorted(os.listdir(f"{top}/{folder}"))
    except OSError:
        return links  # there is no such folder
    return [*links, *(f"{prefix}{name}" for name in names if matches(last, name) and _is_file(f"{top}/{prefix}{name}"))]


def _without_links(top: str, folder: str) -> tuple[str | None, list[str]]:
    """Return where a folder is without links, None if that is elsewhere; and the links that lead there."""
    parts = folder.split("/") if folder else []
    for number in range(1, len(parts) + 1):
        path = "/".join(parts[:number])
        if os.path.islink(f"{top}/{path}"):
            real = os.path.relpath(os.path.realpath(f"{top}/{folder}"), os.path.realpath(top))
            is_inside = real != os.curdir and real.split("/")[0] not in (os.pardir, ".git")
            return (real if is_inside else None), [path]
    return folder, []


def reader(path: str) -> str:
    """Return the program that runs or reads a file, or files in a linked folder; git for a hook, which has no row."""
    whole = (who for who, patterns in FILES.items() if is_one_of(patterns, path))
    linked = (who for who, patterns in FILES.items() if is_one_of([name.partition("/")[0] for name in patterns], path))
    return next(itertools.chain(whole, linked), "git")


def is_one_of(patterns: Sequence[str], path: str) -> bool:
    """Return whether a file is one of these, in any folder."""
    return any(matches(f"**/{pattern}", path) for pattern in patterns)


def _is_file(path: str) -> bool:
    return os.path.islink(path) or (os.path.lexists(path) and not os.path.isdir(path))
