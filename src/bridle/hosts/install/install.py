"""Write the plugin into a folder, and take it away again: exactly what was written, and nothing else.

A file in the folder lists what was written, with the digests. It is there before the first other file and until the
last one is gone, so that an install or an uninstall that was killed is finished by the next one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bridle.errors import DiskError, UsageError
from bridle.ground import disk
from bridle.hosts.install.render_plugin import File, Origin, rendered
from bridle.hosts.sessions.session_file import PLUGIN_STATE

LIST_FILE = ".bridle-plugin.json"
IGNORE_FILE = ".gitignore"
# Everything here is made for this machine: no commit should take it along.
IGNORE = File(b"*\n", 0o644)
# A file of the plugin is a page or two of text. What is larger is not ours, and its digest is not worth taking.
FILE_LIMIT_BYTES = 4 * 1024 * 1024
KEPT_SUFFIX = ".yours"

Digests = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Installed:
    """A plugin that is there, as its list says."""

    folder: Path
    origin: Origin
    files: Digests
    """The digests that each file of ours may have: of the version that is there, and of one that was on its way."""
    made: tuple[str, ...] = ()
    """The folders above it that were made for it, the innermost first."""


@dataclass(frozen=True)
class Changes:
    """What an install or an uninstall did; paths in the plugin's folder."""

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """What somebody had changed: put aside by an install, left in place by an uninstall."""


def read(folder: Path) -> Installed | None:
    """The plugin in a folder; None where there is none of ours."""
    value = disk.read_json(folder / LIST_FILE) if folder.is_dir() else None
    if value is None:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("files"), dict):
        raise DiskError(f"{folder / LIST_FILE} does not list files", remedy="Remove it, and the folder if it is ours.")
    files = {name: tuple(map(str, digests)) for name, digests in value["files"].items() if _is_inside(name)}
    origin = Origin(*(str(value.get(name, "")) for name in ("python", "package", "version")))
    made = value.get("made")
    return Installed(folder, origin, files, tuple(map(str, made)) if isinstance(made, list) else ())


def faults(plugin: Installed) -> list[str]:
    """What keeps an installed plugin from working; nothing where all is well."""
    found = [f"a file of it is missing: {name}" for name in plugin.files if not (plugin.folder / name).is_file()]
    if not os.access(plugin.origin.python, os.X_OK):
        found.append(f"its Python is gone: {plugin.origin.python}")
    if not os.path.isdir(os.path.join(plugin.origin.package, "bridle", "hosts")):
        found.append(f"its Bridle is gone: {plugin.origin.package}")
    return found


def install(folder: Path, origin: Origin) -> Changes:
    """Write the plugin; one of ours is brought up to date in its place, any other folder is refused."""
    before = read(folder)
    if before is None:
        _refuse_foreign(folder)
        missing = tuple(str(one) for one in (folder, *folder.parents) if not one.exists())
        before = Installed(folder, origin, {}, missing)
        disk.make_private_folder(folder)
    _sweep(folder)
    wanted = {**rendered(folder, origin), IGNORE_FILE: IGNORE}
    digests = {name: (_digest(file.data),) for name, file in wanted.items()}
    _write_list(before, origin, _either(before.files, digests))
    kept = [name for name in wanted if _put_aside(folder / name, before.files.get(name, ()) + digests[name])]
    written = [name for name, file in wanted.items() if _write(folder / name, file)]
    removed = [name for name in before.files if name not in wanted and _remove(folder / name, before.files[name])]
    _write_list(before, origin, digests)
    return Changes(tuple(written), tuple(removed), tuple(kept))


def uninstall(folder: Path, *, with_state: bool = False) -> Changes:
    """Take away what `install` wrote; sessions' files stay unless told, and so does what somebody changed."""
    plugin = read(folder)
    if plugin is None:
        raise UsageError(f"there is no plugin of Bridle in {folder}", remedy="bridle plugin path says where one is.")
    _sweep(folder)
    removed = [name for name, digests in plugin.files.items() if _remove(folder / name, digests)]
    kept = [name for name in plugin.files if (folder / name).exists()]
    if with_state and _remove_state(folder / PLUGIN_STATE):
        removed.append(PLUGIN_STATE)
    (folder / LIST_FILE).unlink()
    _remove_empty(folder, [*plugin.files, f"{PLUGIN_STATE}/session"], plugin.made)
    return Changes(removed=tuple(removed), kept=tuple(kept))


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that holds anything but what an uninstall of ours left: sessions' files."""
    if not folder.exists() and not folder.is_symlink():
        return
    state = str(folder / PLUGIN_STATE)
    foreign = (
        path
        for place, _, names in os.walk(folder)
        for path in (os.path.join(place, name) for name in names)
        if os.path.commonpath([path, state]) != state and not _is_on_its_way(path)
    )
    found = next(foreign, None)
    if found is not None or not folder.is_dir():
        raise UsageError(
            f"{folder} is no plugin of Bridle: there is {found or 'no folder'}",
            remedy="Choose another folder with --dir, or remove it yourself.",
        )


def _sweep(folder: Path) -> None:
    """Remove what a killed install had on its way."""
    for place, _, names in os.walk(folder):
        for name in filter(_is_on_its_way, names):
            os.unlink(os.path.join(place, name))


def _is_on_its_way(path: str) -> bool:
    name = os.path.basename(path)
    return name.startswith(disk.TEMPORARY_PREFIX) and name.endswith(disk.TEMPORARY_SUFFIX)


def _write_list(plugin: Installed, origin: Origin, files: Digests) -> None:
    names = {"python": origin.python, "package": origin.package, "version": origin.version}
    document = {**names, "made": list(plugin.made), "files": {name: list(files[name]) for name in sorted(files)}}
    path = plugin.folder / LIST_FILE
    if disk.read_json(path) != document:
        disk.write_json_atomic(path, document)


def _either(old: Digests, new: Digests) -> Digests:
    return {name: tuple(sorted({*old.get(name, ()), *new.get(name, ())})) for name in {**old, **new}}


def _write(path: Path, file: File) -> bool:
    """Write a file unless it is there just so."""
    if _content(path) == file.data and stat.S_IMODE(path.stat().st_mode) == file.mode:
        return False
    disk.make_private_folder(path.parent)
    disk.write_atomic(path, file.data, mode=file.mode)
    return True


def _put_aside(path: Path, ours: tuple[str, ...]) -> bool:
    """Keep a file that somebody changed under another name, before it is written again; no earlier copy is lost."""
    data = _content(path)
    if data is None or _digest(data) in ours:
        return False
    copy, number = path.with_name(path.name + KEPT_SUFFIX), 1
    while _content(copy) not in (None, data):
        number += 1
        copy = path.with_name(f"{path.name}{KEPT_SUFFIX}{number}")
    disk.write_atomic(copy, data)
    return True


def _remove(path: Path, ours: tuple[str, ...]) -> bool:
    """Remove a file of ours that nobody changed."""
    data = _content(path)
    if data is None or _digest(data) not in ours:
        return False
    path.unlink()
    return True


def _remove_state(state: Path) -> bool:
    """Remove the files of sessions; of a folder that somebody keeps elsewhere, only the link to it."""
    if state.is_symlink():
        state.unlink()
        return True
    if not state.is_dir():
        return False
    shutil.rmtree(state)
    return True


def _remove_empty(folder: Path, names: list[str], made: tuple[str, ...]) -> None:
    """Remove the folders that were made for the files, as far as nothing is left in them."""
    inner = {folder / parent for name in names for parent in PurePosixPath(name).parents}
    above = [Path(one) for one in made if Path(one) in folder.parents]
    deepest_first = sorted(inner, key=lambda path: len(path.parts), reverse=True)
    for one in [*deepest_first, *above]:
        try:
            one.rmdir()
        except OSError:
            pass  # somebody has something in it, or it is gone already


def _content(path: Path) -> bytes | None:
    try:
        return disk.read_bounded(path, FILE_LIMIT_BYTES)
    except DiskError as error:
        if isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError)):
            return None
        raise


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _is_inside(name: object) -> bool:
    """Whether a name in a list stays in the folder; the list may have come with somebody's repository."""
    return isinstance(name, str) and not name.startswith("/") and ".." not in PurePosixPath(name).parts
