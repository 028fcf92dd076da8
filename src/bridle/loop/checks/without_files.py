"""Run checks again without what no commit contains, to find out whether they pass in a clone.

Files are moved out of the working copy while the checks run. So everything else that the checks need, such as
installed dependencies, is as it was.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from bridle.ground import disk
from bridle.ground.git_folder import git_folder
from bridle.loop.working_copy.run_context import RunContext

_MANIFEST = "names.json"
# Of a file that exists only while the checks run.
_WAS_MISSING = "-missing"


class NotInCommit(Struct, frozen=True):
    """Something that checks see and that a clone does not have, or has otherwise."""

    name: str
    """Its path; that of a folder may end with a slash."""
    why: str = ""
    instead: bytes | Path | None = None
    """What a clone has instead: these bytes, or a copy of this file."""

    def __str__(self) -> str:
        return f"{self.name}: {self.why}" if self.why else self.name


@contextmanager
def without_files(context: RunContext, files: Sequence[NotInCommit]) -> Iterator[bool]:
    """Make the working copy as a clone has it; yield whether that was possible."""
    put_back(context)
    folder = disk.make_private_folder(_folder(context))
    disk.write_json_atomic(folder / _MANIFEST, [file.name for file in files])
    try:
        yield _move_out(context, folder, files)
    finally:
        put_back(context)


def put_back(context: RunContext) -> None:
    """Put files back into the working copy, also those of a driver that was killed."""
    folder = _folder(context)
    names = disk.read_json(folder / _MANIFEST)
    if not isinstance(names, list):
        return
    for number, name in reversed(list(enumerate(names))):  # a folder before the files that were moved from it
        kept, place = folder / str(number), context.folder / name
        if not os.path.lexists(kept):
            if os.path.lexists(folder / f"{number}{_WAS_MISSING}"):
                _remove(place)
            continue
        _remove(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        kept.rename(place)
    shutil.rmtree(folder)


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def _move_out(context: RunContext, folder: Path, files: Sequence[NotInCommit]) -> bool:
    try:
        for number, file in enumerate(files):
            place = context.folder / file.name
            if os.path.lexists(place):
                mode = os.lstat(place).st_mode & 0o777
                place.rename(folder / str(number))
            elif file.instead is not None:
                mode = 0o644
                (folder / f"{number}{_WAS_MISSING}").touch()
            _write(place, file.instead, mode)
    except OSError as error:  # on another file system, or in a folder that we may not write to
        context.say(f"{file.name} cannot be moved for a check: {error.strerror}")
        return False
    return True


def _write(place: Path, instead: bytes | Path | None, mode: int) -> None:
    if instead is None:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(instead, bytes):
        place.write_bytes(instead)
        place.chmod(mode)
    else:
        shutil.copy(instead, place, follow_symlinks=False)


def _folder(context: RunContext) -> Path:
    """Return the folder for moved files, on the file system of the working copy."""
    worker = "" if context.worker is None else f"-{context.worker}"
    own = git_folder(context.folder)
    is_elsewhere = own is not None and not _is_on_one_disk(context.run_folder, context.folder)
    top = Path(own, context.run) if own is not None and is_elsewhere else context.run_folder
    return top / f"bridle-moved{worker}"


def _is_on_one_disk(one: Path, other: Path) -> bool:
    try:
        return os.stat(one).st_dev == os.stat(other).st_dev
    except OSError:
        return True
