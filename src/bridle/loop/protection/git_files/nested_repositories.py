"""Repositories below a working copy: what git obeys in them is restored, and in new ones what runs programs is removed.

`git status` and `git add` of the outer repository start git in a nested one, with its settings: a filter or
`core.fsmonitor` that an agent configured there would run outside of the sandbox. So this is done before git is started.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from bridle.ground.files import files_below
from bridle.ground.git_folder import common_folder, git_folder
from bridle.loop.effect_results import FileReport
from bridle.loop.protection.git_files import git_metadata, git_pointers
from bridle.loop.protection.git_files.git_metadata import File, GitMetadata
from bridle.loop.protection.git_files.git_pointers import Modules, Pointer
from bridle.loop.protection.recorded.walk_files import walk
from bridle.workspace.git import Git
from bridle.workspace.git_folder import git_links
from bridle.workspace.git_folder.git_links import Links


class Repositories(Struct, frozen=True):
    """The repositories below a working copy at one moment."""

    files: Mapping[Path, Mapping[str, File]] = {}
    """By git folder: the files in it that git obeys."""
    links: Mapping[Path, Links] = {}
    """By git folder: the symbolic links in it."""
    pointers: Mapping[Path, Pointer] = {}
    """By folder: its `.git`, where that is a file or a link."""


_CONFIG = "config"
_COMMON = "commondir"
_DANGEROUS = (_COMMON, "config.worktree", "hooks/")
_WORKTREE = "core.worktree"
_BARE = "core.bare"
# Settings that run no program, and lead git to no other files.
_HARMLESS = re.compile(
    r"core\.(?:repositoryformatversion|filemode|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol"
    r"|safecrlf|longpaths|sparsecheckout|sparsecheckoutcone)"
    r"|remote\..+\.(?:url|pushurl|fetch|push|tagopt|promisor|partialclonefilter|mirror|prune)"
    r"|branch\..+\.(?:remote|merge|rebase|pushremote|description)"
    r"|submodule\..+\.(?:url|active|branch|path)|submodule\.active|extensions\.(?:objectformat|partialclone)"
    r"|user\.(?:name|email)|init\.defaultbranch|lfs\.repositoryformatversion|pull\.(?:ff|rebase)",
    re.DOTALL,
)
# The configuration that `git init` and `git clone` write: it need not be parsed.
_AS_MADE = re.compile(
    rb"(?:\[core\]\n|\[(?:remote|branch) \"[^\"\\\n]+\"\]\n|\t(?:repositoryformatversion|filemode|logallrefupdates"
    rb"|ignorecase|precomposeunicode|symlinks|fetch|remote|merge) = [^\\\"\n;#]+\n"
    rb"|\tbare = false\n|\turl = (?!ext::)[^\\\"\n;#]+\n)*"
)
# An agent could make any number of others; each of them takes a start of git.
_PARSED = 100
_SHOWN_SETTINGS = 5
# The most files that are reported singly.
_SHOWN = 20


def read(top: Path, common: Path | None, folders: Iterable[Path] | None = None) -> Repositories:
    """Find the repositories below a working copy, without submodules and worktrees, and without starting git.

    `folders`: those with a `.git` entry, if they are known.
    """
    places, pointers = _find(top, common, folders)
    places += _nested(pointers.values())
    files = {place: git_metadata.read_control_files(place) for place in places}
    return Repositories(files, {place: git_links.read(place) for place in places}, pointers)


def _find(top: Path, common: Path | None, folders: Iterable[Path] | None) -> tuple[list[Path], dict[Path, Pointer]]:
    """Return the git folders in folders of a working copy, and the files and links that lead to one."""
    places: list[Path] = []
    pointers: dict[Path, Pointer] = {}
    modules: Modules = {}
    real = os.path.realpath(top)
    for folder in walk(top).repositories if folders is None else folders:
        pointer = git_pointers.read(folder, real, common, modules)
        if pointer is not None:
            pointers[folder] = pointer
        elif os.path.isdir(folder / ".git"):
            places.append(Path(os.path.realpath(folder / ".git")))
    return places, pointers


def _nested(pointers: Iterable[Pointer]) -> list[Path]:
    found = (pointer.leads_to for pointer in pointers if pointer.kind == git_pointers.NESTED)
    return [Path(place) for place in found if place is not None]


async def restore(
    git: Git, common: Path | None, before: Repositories, folders: Iterable[Path] | None = None
) -> list[FileReport]:
    """Restore what git obeys in repositories of the user, and remove what runs programs from new ones."""
    found, pointers = _find(git.folder, common, folders)
    top = os.path.realpath(git.folder)
    reports, kept = git_pointers.restore(git.folder, common, before.pointers, pointers, before.files)
    places = dict.fromkeys([*found, *_nested(kept), *_not_found(before.files, found)])
    new = 0
    for place in places:
        shown = os.path.relpath(place, top)
        _open(place)
        reports += git_metadata.report_links(git_links.restore(place, before.links.get(place, {})), shown)
        files = git_metadata.read_control_files(place)
        known = before.files.get(place)
        if known is not None:
            reports += git_metadata.restore_control_files(place, known, files, shown)
        else:
            new += 0 if _is_as_made(files) else 1
            reports += await _make_harmless(git, place, files, shown, is_parsed=new <= _PARSED)
    if len(reports) > _SHOWN:
        more = FileReport(".", f"{len(reports) - _SHOWN} more files of nested repositories were restored or removed")
        return [*reports[:_SHOWN], more]
    return reports


def _open(place: Path) -> None:
    """Make a git folder accessible that an agent has closed: what it obeys could not be restored."""
    with suppress(OSError):
        mode = os.lstat(place).st_mode
        if mode & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(place, stat.S_IMODE(mode) | stat.S_IRWXU)


def _not_found(before: Iterable[Path], found: Sequence[Path]) -> list[Path]:
    """Return the git folders that are still there, although nothing that was found leads to them."""
    gone = {*before}.difference(found)
    return sorted(place for place in gone if os.path.realpath(place) == str(place) and os.path.isdir(place))


async def make_linked_harmless(git: Git, before: GitMetadata, now: GitMetadata) -> list[FileReport]:
    """Remove what runs programs from new submodules and worktrees, whose folders are in that of the repository."""
    reports: list[FileReport] = []
    if now.folder is None:
        return reports
    for name in sorted(now.linked - before.made):
        place, start = now.folder / name, f"{name}/"
        files = {file.removeprefix(start): now.files[file] for file in now.files if file.startswith(start)}
        is_worktree = os.path.realpath(common_folder(str(place))) == str(now.folder) and "gitdir" in files
        keeps = (_COMMON,) if is_worktree else ()
        reports += await _make_harmless(git, place, files, f".git/{name}", keeps=keeps)
    return reports


async def _make_harmless(
    git: Git,
    place: Path,
    files: Mapping[str, File],
    shown: str,
    *,
    keeps: tuple[str, ...] = (),
    is_parsed: bool = True,
) -> list[FileReport]:
    """Remove hooks and files that lead to other settings, and from the settings those that run programs."""
    kept = {name: file for name, file in files.items() if name in keeps or not name.startswith(_DANGEROUS)}
    reports = git_metadata.restore_control_files(place, kept, files, shown)
    if _is_as_made(files):
        return reports
    return [*reports, *await _filter_settings(git, place / _CONFIG, f"{shown}/{_CONFIG}", is_parsed=is_parsed)]


def _is_as_made(files: Mapping[str, File]) -> bool:
    mode, data = files.get(_CONFIG, (stat.S_IFREG, b""))
    return stat.S_ISREG(mode) and _AS_MADE.fullmatch(data) is not None


async def _filter_settings(git: Git, config: Path, shown: str, *, is_parsed: bool) -> list[FileReport]:
    """Remove the settings of a new repository that run programs, or all if they are not parsed; report them."""
    settings: list[tuple[str, str]] | None = None
    if is_parsed and config.is_file() and not config.is_symlink():
        words = ("config", "--file", str(config), "--no-includes", "--list", "-z")
        code, text = await git.run(*words, accepts=tuple(range(256)))
        listed = [entry.partition("\n") for entry in text.split("\0") if entry]
        settings = [(name, value) for name, _, value in listed] if code == 0 else None
    kept = [(name, value) for name, value in settings or () if _is_harmless(name, value, config.parent, git.folder)]
    if settings is not None and len(kept) == len(settings):
        return []
    files_below.replace(config.parent, config.name, "".join(_lines(kept)).encode("utf-8", "surrogateescape"))
    removed = dict.fromkeys(name for name, value in settings or () if (name, value) not in kept)
    names = ", ".join([*removed][:_SHOWN_SETTINGS]) or "all of them"
    more = f" and {len(removed) - _SHOWN_SETTINGS} more" if len(removed) > _SHOWN_SETTINGS else ""
    why = "because git may run programs or write elsewhere by them"
    what = f"these settings of a new nested repository were removed, {why}"
    return [FileReport(shown, f"{what}: {names}{more}")]


def _is_harmless(name: str, value: str, place: Path, top: Path) -> bool:
    if name == _BARE:
        return value == "false"
    if name == _WORKTREE:
        return "\0" not in value and _leads_back(os.path.realpath(place / value), place, os.path.realpath(top))
    return _HARMLESS.fullmatch(name) is not None and not value.startswith("ext::")


def _leads_back(folder: str, place: Path, top: str) -> bool:
    """Return whether a folder of the working copy has a `.git` that leads to this git folder, as in a submodule."""
    own = git_folder(folder) if Path(folder).is_relative_to(top) else None
    return own is not None and "\0" not in own and os.path.realpath(own) == str(place)


def _lines(settings: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield settings in the format of git."""
    for name, value in settings:
        section, _, rest = name.partition(".")
        subsection, _, key = rest.rpartition(".")
        yield f"[{section} {_quote(subsection)}]\n" if subsection else f"[{section}]\n"
        yield f"\t{key} = {_quote(value)}\n"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
