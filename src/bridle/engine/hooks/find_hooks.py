"""Find native hooks: three folders for each type. Commands that must start fast import this module.

1. the repository's: `.a5c/hooks/<type>/*.sh`, for a run below its top too
2. the user's: `~/.config/babysitter/hooks/<type>/*.sh`
3. the plugin's: `<plugin>/hooks/<type>/*.sh`
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bridle.ground import ids
from bridle.ground.git_folder import folders_up_to_top
from bridle.ground.run_place import repository_by_name

ON_RUN_START = "on-run-start"
ON_RUN_COMPLETE = "on-run-complete"
ON_RUN_FAIL = "on-run-fail"
ON_ITERATION_START = "on-iteration-start"
ON_ITERATION_END = "on-iteration-end"
ON_STEP_DISPATCH = "on-step-dispatch"
ON_TASK_START = "on-task-start"
ON_TASK_COMPLETE = "on-task-complete"
ON_BREAKPOINT = "on-breakpoint"
ON_SCORE = "on-score"

REPOSITORY = "per-repo"
USER = "per-user"
PLUGIN = "plugin"

REPOSITORY_FOLDER = ".a5c"
PLUGIN_VARIABLE = "CLAUDE_PLUGIN_ROOT"


class Script:
    """One hook script."""

    __slots__ = ("path", "where")

    def __init__(self, path: Path, where: str) -> None:
        self.path = path
        self.where = where
        """`per-repo`, `per-user` or `plugin`."""


def find_scripts(
    hook_type: str, repository: Path, environment: Mapping[str, str], plugin_root: Path | None
) -> list[Script]:
    """Return every hook of the type in the order of execution, trusted or not."""
    ids.check_id(hook_type, what="the hook type")
    folders = [(where, f"{top}/{hook_type}") for where, top in _tops(repository, environment, plugin_root)]
    return [Script(Path(folder, name), where) for where, folder in folders for name in _names(folder)]


def has_any(repository: Path, environment: Mapping[str, str], plugin_root: Path | None) -> bool:
    """Return whether there may be hooks of any type: most users have no folder of them."""
    return bool(_tops(repository, environment, plugin_root))


def repository_of(run: Path) -> Path:
    """Return the repository of a run: that of the `.a5c/runs` it is in, or the nearest parent with `.a5c` or `.git`.

    A linked `.a5c/runs` belongs to the repository that has the link, wherever it leads.
    """
    named = repository_by_name(run)
    if named is not None:
        return named
    run = run.resolve()
    for folder in run.parents:
        if (folder / REPOSITORY_FOLDER).is_dir() or (folder / ".git").exists():
            return folder
    return run.parent


def hooks_owner(repository: Path) -> Path:
    """Return the folder whose hooks run: the repository, or the nearest above it, up to git's top, that has some."""
    if os.path.exists(f"{repository}/.git") or _has_hooks(repository):
        return repository  # asked for dozens of times in an iteration: no other folder is looked at
    return next(filter(_has_hooks, folders_up_to_top(repository)), repository)


def _has_hooks(folder: Path) -> bool:
    return os.path.isdir(f"{folder}/{REPOSITORY_FOLDER}/hooks")


def _tops(repository: Path, environment: Mapping[str, str], plugin_root: Path | None) -> list[tuple[str, str]]:
    """Return the folders of hooks that exist, as strings, not Paths: an iteration asks dozens of times."""
    tops = [(REPOSITORY, f"{hooks_owner(repository)}/{REPOSITORY_FOLDER}/hooks")]
    settings, home = environment.get("XDG_CONFIG_HOME"), environment.get("HOME")
    if settings or home:
        tops.append((USER, f"{settings or f'{home}/.config'}/babysitter/hooks"))
    plugin = plugin_root or environment.get(PLUGIN_VARIABLE)
    if plugin:
        tops.append((PLUGIN, f"{plugin}/hooks"))
    return [(where, top) for where, top in tops if os.path.isdir(top)]


def _names(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []  # most types have no folder
    return sorted(name for name in names if name.endswith(".sh") and os.path.isfile(f"{folder}/{name}"))
