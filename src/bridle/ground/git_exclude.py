"""Keep Bridle's folders out of commits, through `.git/info/exclude`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.git_folder import find_common_folder

_EXCLUDED = (b".ralph/", b".a5c/")
_RUNS_PARENT = ".a5c"
# Characters that mean something in a pattern.
_SPECIAL = rb"([][*?\\! #])"
_FILE_LIMIT_BYTES = 1024 * 1024  # of .git/info/exclude, which is a short list of patterns


def exclude_from_git(workspace: Path, *, runs: Path | None = None) -> None:
    """Add Bridle's folders to `.git/info/exclude`; the repository's .gitignore is never changed.

    Also `runs`, a folder of runs that is elsewhere in the workspace: a rollback would undo its journals.
    """
    git = find_common_folder(workspace)
    if git is None:
        return
    path = git / "info" / "exclude"
    try:
        path.parent.mkdir(exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else None
    except OSError as error:
        raise DiskError(f"{path} could not be written: {error.strerror}", payload=error.errno) from error
    content = disk.read_bounded(path, _FILE_LIMIT_BYTES) if mode is not None else b""
    known = content.splitlines()
    missing = [line + b"\n" for line in (*_EXCLUDED, *_other_places(workspace, runs)) if line not in known]
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
