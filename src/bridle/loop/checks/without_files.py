"""Run checks again without files that no commit contains, to find out whether they pass in a clone.

The files are moved out of the working copy while the checks run. So everything else that the checks need, such as
installed dependencies, is as it was.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bridle.ground import disk
from bridle.loop.working_copy.run_context import RunContext

_MANIFEST = "names.json"


@contextmanager
def without_files(context: RunContext, names: Sequence[str], earlier: Mapping[str, bytes]) -> Iterator[bool]:
    """Move files and folders out of the working copy; yield whether that was possible.

    `earlier` has the content that some of them get instead.
    """
    put_back(context)
    folder = disk.make_private_folder(_folder(context))
    disk.write_json_atomic(folder / _MANIFEST, list(names))
    try:
        yield _move_out(context.folder, folder, names, earlier)
    finally:
        put_back(context)


def put_back(context: RunContext) -> None:
    """Put files back into the working copy, also those of a driver that was killed."""
    folder = _folder(context)
    names = disk.read_json(folder / _MANIFEST)
    if not isinstance(names, list):
        return
    for number, name in enumerate(names):
        kept, place = folder / str(number), context.folder / name
        if not os.path.lexists(kept):
            continue
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        kept.rename(place)
    shutil.rmtree(folder)


def _move_out(top: Path, folder: Path, names: Sequence[str], earlier: Mapping[str, bytes]) -> bool:
    try:
        for number, name in enumerate(names):
            place = top / name
            if not os.path.lexists(place):
                continue
            mode = os.lstat(place).st_mode & 0o777
            place.rename(folder / str(number))
            if name in earlier:
                place.write_bytes(earlier[name])
                place.chmod(mode)
    except OSError:  # on another file system, or in a folder that we may not write to
        return False
    return True


def _folder(context: RunContext) -> Path:
    worker = "" if context.worker is None else f"-{context.worker}"
    return context.run_folder / f"bridle-moved{worker}"
