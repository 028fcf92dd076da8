"""Keep Bridle's folders out of commits, through `.git/info/exclude` and a .gitignore in each of them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.git_folder import find_common_folder

_EXCLUDED = (b".ralph/", b".a5c/")
_OUR_FOLDER = ".ralph"
_RUNS_PARENT = ".a5c"
_RUNS = Path(".a5c/runs")
_IGNORE_FILE = ".gitignore"
_NEW_IGNORE_FILE = ".gitignore.new"
_IGNORE_ALL = b"*\n"
# Characters that mean something in a pattern.
_SPECIAL = rb"([][*?\\! #])"
_FILE_LIMIT_BYTES = 1024 * 1024  # of .git/info/exclude, which is a short list of patterns


def exclude_from_git(workspace: Path, *, runs: Path | None = None) -> None:
    """Hide Bridle's folders from git; the repository's .gitignore is never changed.

    Also `runs`, a folder of runs that is elsewhere in the workspace: a rollback would undo its journals. Each folder
    has a .gitignore of its own: rules of the repository such as `!*.json` outweigh those of `.git/info/exclude`.
    """
    git = find_common_folder(workspace)
    if git is None:
        return
    ignore_contents(workspace, runs)
    _add_patterns(git / "info" / "exclude", (*_EXCLUDED, *_other_places(workspace, runs)))


def ignore_contents(workspace: Path, runs: Path | None = None) -> None:
    """Write a .gitignore into each of Bridle's folders that is there, where the disk allows it.

    In `.ralph`, which other tools use too, one of the user stays as it is.
    """
    top = os.path.realpath(workspace)
    ours, place = Path(top, _OUR_FOLDER), Path(os.path.realpath(runs or Path(top, _RUNS)))
    with suppress(OSError, DiskError):
        if ours.is_dir() and not ours.is_symlink() and not os.path.lexists(ours / _IGNORE_FILE):
            _write_rules(ours)
        if place.is_dir() and str(place).startswith(f"{top}/"):
            rules = place / _IGNORE_FILE
            if rules.is_symlink() or disk.read_if_exists(rules, _FILE_LIMIT_BYTES) != _IGNORE_ALL:
                _write_rules(place)


def _write_rules(folder: Path) -> None:
    """Write the rules through one name: the next writer replaces what a killed one left, and nothing collects here."""
    written = folder / _NEW_IGNORE_FILE
    disk.write_private(written, _IGNORE_ALL, mode=0o644)
    disk.move(written, folder / _IGNORE_FILE)


def _add_patterns(path: Path, patterns: Sequence[bytes]) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else None
    except OSError as error:
        raise DiskError(f"{path} could not be written: {error.strerror}", payload=error.errno) from error
    content = disk.read_bounded(path, _FILE_LIMIT_BYTES) if mode is not None else b""
    known = content.splitlines()
    missing = [line + b"\n" for line in patterns if line not in known]
    if not missing:
        return
    gap = b"" if not content or content.endswith(b"\n") else b"\n"
    disk.write_atomic(path, content + gap + b"".join(missing), mode=0o644 if mode is None else mode)


def _other_places(workspace: Path, runs: Path | None) -> list[bytes]:
    """Return patterns for folders of ours that are links, or that a link or a setting puts into the workspace."""
    lines = [f"/{_RUNS_PARENT}".encode()] if (workspace / _RUNS_PARENT).is_symlink() else []
    top, place = os.path.realpath(workspace), os.path.realpath(runs) if runs is not None else ""
    if place.startswith(f"{top}/") and not place.startswith(f"{top}/{_RUNS_PARENT}/"):
        lines.append(b"/" + re.sub(_SPECIAL, rb"\\\1", os.fsencode(os.path.relpath(place, top))) + b"/")
    return lines
