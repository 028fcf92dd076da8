"""Rewinds files to a checkpoint: what would change, and the change itself."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping
from pathlib import Path

import msgspec

from bridle.agent.tools.checkpoints.file_checkpoints import FileState, Unsafe, read_state
from bridle.agent.tools.files.diff_hunks import structured_patch
from bridle.agent.tools.files.save import ChangedOnDisk, save

# Counting the changed lines of larger files takes longer than the user waits; they count as one line each way.
_COUNTED_BYTES = 4 * 1024 * 1024


class Preview(msgspec.Struct, frozen=True, rename="camel"):
    """What a rewind would change."""

    files_changed: list[str]
    insertions: int
    deletions: int


class Rewound(msgspec.Struct):
    """What a rewind has done."""

    restored: int = 0
    skipped_links: int = 0
    """Files whose path is now a link or another kind of file; they are left alone."""
    failures: list[str] = msgspec.field(default_factory=list)


def preview(files: Mapping[Path, FileState | None]) -> Preview:
    """Return what a rewind would change."""
    changed, insertions, deletions = [], 0, 0
    for path, wanted in files.items():
        with contextlib.suppress(Unsafe, OSError):
            current = read_state(path)
            if current != wanted:
                added, removed = _changed_lines(current, wanted)
                changed.append(str(path))
                insertions, deletions = insertions + added, deletions + removed
    return Preview(changed, insertions, deletions)


def rewind(files: Mapping[Path, FileState | None]) -> Rewound:
    """Make the files what they were; one that fails does not stop the others."""
    done = Rewound()
    for path, wanted in files.items():
        try:
            if read_state(path) != wanted:
                _restore(path, wanted)
                done.restored += 1
        except Unsafe:
            done.skipped_links += 1
        except ChangedOnDisk:
            done.failures.append(f"{path}: it changed during the rewind")
        except OSError as error:
            done.failures.append(f"{path}: {error.strerror or error}")
    return done


def _restore(path: Path, wanted: FileState | None) -> None:
    if wanted is None:
        path.unlink()
        return
    state = os.lstat(path) if path.exists() else None
    save(path, wanted.data, expected=state, cancelled=threading.Event())
    os.chmod(path, wanted.mode, follow_symlinks=os.chmod not in os.supports_follow_symlinks)


def _changed_lines(current: FileState | None, wanted: FileState | None) -> tuple[int, int]:
    """Return how many lines are added and removed."""
    old, new = (b"" if state is None else state.data for state in (current, wanted))
    if len(old) + len(new) > _COUNTED_BYTES:
        return 1, 1
    hunks = structured_patch(old.decode("utf-8", "replace"), new.decode("utf-8", "replace"))
    lines = [line for hunk in hunks for line in hunk["lines"]]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
