"""Install the plugin into a folder, and uninstall exactly what was written.

A file in the folder lists the written files with their digests. It is written first and removed last, so that the next
install or uninstall completes one that was killed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from msgspec import Struct

from bridle.errors import DiskError, UsageError
from bridle.ground import disk
from bridle.hosts.install.render_plugin import File, Origin, render
from bridle.hosts.sessions.session_file import PLUGIN_STATE

LIST_FILE = ".bridle-plugin.json"
IGNORE_FILE = ".gitignore"
# Everything here is specific to this machine: it must not be committed.
IGNORE = File(b"*\n", 0o644)
# A file of the plugin is a page or two of text; a larger one is not ours.
FILE_LIMIT_BYTES = 4 * 1024 * 1024
BACKUP_SUFFIX = ".yours"

Digests = Mapping[str, tuple[str, ...]]


class InstalledPlugin(Struct, frozen=True):
    """An installed plugin, as its list describes it."""

    folder: Path
    origin: Origin
    files: Digests
    """The digests that each of our files may have: of the installed version, and of one being installed."""
    made: tuple[str, ...] = ()
    """The parent folders that were created for it, the innermost first."""


class Changes(Struct, frozen=True):
    """The changes of an install or uninstall; paths in the plugin's folder."""

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """Files that the user had changed: an install backs them up, an uninstall leaves them."""


def read(folder: Path) -> InstalledPlugin | None:
    """Return the plugin in a folder; None without a list of our files."""
    value = disk.read_json(folder / LIST_FILE) if folder.is_dir() else None
    if value is None:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("files"), dict):
        raise DiskError(f"{folder / LIST_FILE} must have an object 'files'", remedy="Remove it, then install again.")
    files = {name: tuple(map(str, digests)) for name, digests in value["files"].items() if _is_inside(name)}
    origin = Origin(*(str(value.get(name, "")) for name in ("python", "package", "version")))
    made = value.get("made")
    return InstalledPlugin(folder, origin, files, tuple(map(str, made)) if isinstance(made, list) else ())


def find_faults(plugin: InstalledPlugin) -> list[str]:
    """Return what keeps an installed plugin from working."""
    faults = [f"missing file: {name}" for name in plugin.files if not (plugin.folder / name).is_file()]
    if not os.access(plugin.origin.python, os.X_OK):
        faults.append(f"missing Python: {plugin.origin.python}")
    if not os.path.isdir(os.path.join(plugin.origin.package, "bridle", "hosts")):
        faults.append(f"missing Bridle: {plugin.origin.package}")
    return faults


def install(folder: Path, origin: Origin) -> Changes:
    """Install or update the plugin; raise a UsageError for a folder with foreign files."""
    before = read(folder)
    if before is None:
        _refuse_foreign(folder)
        missing = tuple(str(path) for path in (folder, *folder.parents) if not path.exists())
        before = InstalledPlugin(folder, origin, {}, missing)
        disk.make_private_folder(folder)
    _sweep(folder)
    wanted = {**render(folder, origin), IGNORE_FILE: IGNORE}
    digests = {name: (_digest(file.data),) for name, file in wanted.items()}
    _write_list(before, origin, _join_digests(before.files, digests))
    kept = [name for name in wanted if _back_up(folder / name, before.files.get(name, ()) + digests[name])]
    written = [name for name, file in wanted.items() if _write(folder / name, file)]
    removed = [name for name in before.files if name not in wanted and _remove(folder / name, before.files[name])]
    _write_list(before, origin, digests)
    return Changes(tuple(written), tuple(removed), tuple(kept))


def uninstall(folder: Path, *, with_state: bool = False) -> Changes:
    """Remove what `install` wrote, except files that the user changed; session files only with `with_state`."""
    plugin = read(folder)
    if plugin is None:
        raise UsageError(f"no plugin of Bridle in {folder}", remedy="bridle plugin path prints where plugins are.")
    _sweep(folder)
    removed = [name for name, digests in plugin.files.items() if _remove(folder / name, digests)]
    kept = [name for name in plugin.files if (folder / name).exists()]
    if with_state and _remove_state(folder / PLUGIN_STATE):
        removed.append(PLUGIN_STATE)
    (folder / LIST_FILE).unlink()
    _remove_empty(folder, [*plugin.files, f"{PLUGIN_STATE}/session"], plugin.made)
    return Changes(removed=tuple(removed), kept=tuple(kept))


def _refuse_foreign(folder: Path) -> None:
    """Raise a UsageError for a folder with anything but session files, which an uninstall leaves."""
    if not folder.exists() and not folder.is_symlink():
        return
    state = str(folder / PLUGIN_STATE)
    foreign = (
        path
        for place, _, names in os.walk(folder)
        for path in (os.path.join(place, name) for name in names)
        if os.path.commonpath([path, state]) != state and not _is_temporary(path)
    )
    path = next(foreign, None)
    if path is not None or not folder.is_dir():
        raise UsageError(
            f"{folder} is not a plugin of Bridle: {f'it contains {path}' if path else 'it is not a folder'}",
            remedy="Choose another folder with --dir, or remove this one.",
        )


def _sweep(folder: Path) -> None:
    """Remove the temporary files of a killed install."""
    for place, _, names in os.walk(folder):
        for name in filter(_is_temporary, names):
            os.unlink(os.path.join(place, name))


def _is_temporary(path: str) -> bool:
    name = os.path.basename(path)
    return name.startswith(disk.TEMPORARY_PREFIX) and name.endswith(disk.TEMPORARY_SUFFIX)


def _write_list(plugin: InstalledPlugin, origin: Origin, files: Digests) -> None:
    names = {"python": origin.python, "package": origin.package, "version": origin.version}
    document = {**names, "made": list(plugin.made), "files": {name: list(files[name]) for name in sorted(files)}}
    path = plugin.folder / LIST_FILE
    if disk.read_json(path) != document:
        disk.write_json_atomic(path, document)


def _join_digests(old: Digests, new: Digests) -> Digests:
    return {name: tuple(sorted({*old.get(name, ()), *new.get(name, ())})) for name in {**old, **new}}


def _write(path: Path, file: File) -> bool:
    """Write a file unless it is up to date."""
    if _content(path) == file.data and stat.S_IMODE(path.stat().st_mode) == file.mode:
        return False
    disk.make_private_folder(path.parent)
    disk.write_atomic(path, file.data, mode=file.mode)
    return True


def _back_up(path: Path, ours: tuple[str, ...]) -> bool:
    """Copy a file that the user changed to a new name, keeping earlier copies."""
    data = _content(path)
    if data is None or _digest(data) in ours:
        return False
    copy, number = path.with_name(path.name + BACKUP_SUFFIX), 1
    while _content(copy) not in (None, data):
        number += 1
        copy = path.with_name(f"{path.name}{BACKUP_SUFFIX}{number}")
    disk.write_atomic(copy, data)
    return True


def _remove(path: Path, ours: tuple[str, ...]) -> bool:
    """Remove a file of ours unless the user changed it."""
    data = _content(path)
    if data is None or _digest(data) not in ours:
        return False
    path.unlink()
    return True


def _remove_state(state: Path) -> bool:
    """Remove the session files; if their folder is a link, only the link."""
    if state.is_symlink():
        state.unlink()
        return True
    if not state.is_dir():
        return False
    shutil.rmtree(state)
    return True


def _remove_empty(folder: Path, names: list[str], made: tuple[str, ...]) -> None:
    """Remove the empty folders that were created for the files."""
    inner = {folder / parent for name in names for parent in PurePosixPath(name).parents}
    above = [Path(path) for path in made if Path(path) in folder.parents]
    deepest_first = sorted(inner, key=lambda path: len(path.parts), reverse=True)
    for path in [*deepest_first, *above]:
        try:
            path.rmdir()
        except OSError:
            pass  # not empty, or already removed


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
    """Return whether a listed name is inside the folder; the list may be foreign."""
    return isinstance(name, str) and not name.startswith("/") and ".." not in PurePosixPath(name).parts
