"""Where the programs are that a sandboxed program can start: the folders of PATH, and what is linked into them.

Programs of a version manager, of Homebrew or of a package manager are links in a folder of PATH. What they lead to is
visible too, unless an agent can have made the link: in a working copy none counts.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk, git_folder
from bridle.run.isolation.real_paths import real

# The folder of the package `bridle`, which may be that of a checkout.
PACKAGES = str(Path(__file__).parents[3])

# Folders whose content a sandboxed program does not see: temporary files, sockets, the homes of other users.
PRIVATE_FOLDERS = ("/tmp", "/var/tmp", "/run", "/home")  # noqa: S108  # they are replaced by private ones

# Beside a folder of programs: their libraries.
_LIBRARIES = ("lib", "lib64", "libexec", "share", "include")
# In the prefix of Homebrew.
_CELLAR = "Cellar"
# An absolute path in a script that starts another program, or in its first line.
_ABSOLUTE = re.compile(rb"/[^\s\"'`$;|&<>(){}]+")
_SCRIPT_LIMIT_BYTES = 64 * 1024


def path_folders(environment: Mapping[str, str]) -> list[str]:
    """Return the folders of PATH."""
    return [folder for folder in environment.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]


def visible_programs(
    environment: Mapping[str, str], program: str | None, user: Path, *, excluded: Collection[Path]
) -> Iterator[Path]:
    """Yield the folders and files of programs that the sandbox would not show.

    `excluded` are folders that agents can write to, or that are hidden: no link in or to them counts.
    """
    named = [] if program is None else [program, real(program)]
    on_path = path_folders(environment)
    folders = [*on_path, *(os.path.dirname(path) for path in named), sys.prefix, sys.base_prefix, PACKAGES]
    for folder in dict.fromkeys(real(folder) for folder in folders):
        parent = os.path.dirname(folder)
        place = parent if os.path.isfile(os.path.join(parent, "pyvenv.cfg")) else folder
        if _is_private(place, user):
            yield from _with_libraries(Path(place))
    linked = [real(link) for folder in dict.fromkeys(on_path) for link, _ in _linked(folder, user, excluded)]
    for target in dict.fromkeys([*linked, *_started_by(named, excluded)]):
        if _is_private(target, user) and not _is_below(target, excluded) and _is_program(target):
            yield from _of_program(Path(target))


def names_of_programs(
    environment: Mapping[str, str], program: str | None, user: Path, *, excluded: Collection[Path]
) -> Iterator[Path]:
    """Yield the paths that lead to programs by several links: the sandbox must have the links between too."""
    on_path = dict.fromkeys(path_folders(environment))
    yield from (Path(sys.executable), *map(Path, _started_by([program] if program else [], excluded)))
    for link, target in (found for folder in on_path for found in _linked(folder, user, excluded)):
        if os.path.normpath(os.path.join(os.path.dirname(link), target)) != real(link):
            yield Path(link)


def _linked(folder: str, user: Path, excluded: Collection[Path]) -> Iterator[tuple[str, str]]:
    """Yield the links in a folder of PATH that can lead to programs, each with its target."""
    place = real(folder)
    if _is_below(place, excluded) or git_folder.repository_top(Path(place)) is not None:
        return
    # In a folder of the system only links that name the other place: it has thousands.
    prefixes = ("",) if _is_private(place, user) or _is_below(place, (user,)) else (str(user), *PRIVATE_FOLDERS)
    try:
        state = os.stat(place)
        links = _links_in(place, (state.st_dev, state.st_ino, state.st_mtime_ns, state.st_ctime_ns))
    except OSError:
        return  # it is on PATH, and is missing
    yield from ((link, target) for link, target in links if target.startswith(prefixes))


@lru_cache(maxsize=64)
def _links_in(folder: str, _state: tuple[int, ...]) -> tuple[tuple[str, str], ...]:
    """Return the links in a folder with their targets; listed again if the folder has changed, and with it a link."""
    with os.scandir(folder) as entries:
        links = [entry.path for entry in entries if entry.is_symlink()]
    return tuple((link, os.readlink(link)) for link in links)


def _started_by(named: Collection[str], excluded: Collection[Path]) -> Iterator[str]:
    """Yield the programs whose paths are in the script of a program."""
    for path in named:
        if _is_below(real(path), excluded):
            continue
        try:
            script = disk.read_bounded(Path(real(path)), _SCRIPT_LIMIT_BYTES)
        except DiskError:
            continue  # it is missing, or too large for such a script
        if script.startswith(b"#!"):
            for found in _ABSOLUTE.findall(script):
                yield from (os.fsdecode(found), os.fsdecode(os.path.realpath(found)))


def _of_program(target: Path) -> Iterator[Path]:
    is_in_folder = target.parent.name in ("bin", "sbin") or "node_modules" in target.parts
    yield from _with_libraries(target.parent) if is_in_folder else [target]


def _with_libraries(place: Path) -> Iterator[Path]:
    """Yield a folder of programs, and where its programs have their libraries."""
    before, modules, _ = f"{place}/".partition("/node_modules/")
    if modules:
        yield Path(before, "node_modules")
    elif os.path.isdir(place.with_name(_CELLAR)):
        yield place.parent
    else:
        yield place
        # Beside ~/.local/bin is the data of all programs; what may be seen of it is listed.
        has_own = place.name in ("bin", "sbin") and place.parent.name != ".local"
        yield from (place.with_name(name) for name in _LIBRARIES if has_own)


def _is_private(path: str, user: Path) -> bool:
    """Return whether a path is hidden unless it is listed: in a private folder, or below a dot entry of the home."""
    if _is_below(path, (user,)):
        return path.startswith(f"{user}/.")
    return path.startswith(tuple(f"{folder}/" for folder in PRIVATE_FOLDERS))


def _is_below(path: str, folders: Collection[Path]) -> bool:
    return any(f"{path}/".startswith(f"{folder}/") for folder in folders)


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
