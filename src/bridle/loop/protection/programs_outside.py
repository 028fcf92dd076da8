"""Files of the working copy that run outside of the sandbox: what git's configuration names, and Bridle's own Python.

A filter of the user may be a script of the repository, `[include]` may name a file of it, and Bridle may be installed
in the project's `.venv`. An agent that changed one would run code as the user, at the next git of Bridle. So they are
recorded before every agent, and restored before git starts again, whatever git tracks and the plan allows. In a sandbox
they are read-only, with the whole virtual environment of such a program.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bridle.ground import disk
from bridle.ground.git_folder import find_common_folder
from bridle.loop.effect_results import FileReport
from bridle.loop.protection.recorded import recorded_files
from bridle.loop.protection.repairs import Repair, apply
from bridle.loop.working_copy.run_context import RunContext

FOLDER = "bridle-outside"
_WHY = "it runs outside of the sandbox: git's configuration names it, or Bridle is installed there"
_INCLUDES = re.compile(r"include\.path|includeif\..+\.path|core\.attributesfile", re.DOTALL)
_PROGRAMS = re.compile(
    r"filter\..+\.(?:clean|smudge|process)|diff\.(?:external|.+\.(?:textconv|command))|merge\..+\.driver"
    r"|core\.(?:fsmonitor|sshcommand|editor|pager|askpass|gitproxy)|sequence\.editor|pager\..+|interactive\.difffilter"
    r"|credential\.(?:.+\.)?helper|gpg\.(?:.+\.)?program|(?:merge|diff)tool\..+\.(?:cmd|path)|hook\..+\.command",
    re.DOTALL,
)
# What Python runs at its start, and Bridle itself.
_AT_START = ("*.pth", "sitecustomize.py", "usercustomize.py", "bridle/**/*.py")
_OF_ENVIRONMENT = ("pyvenv.cfg", "bin/bridle", "bin/bridle-agent", "bin/python*")


async def find(context: RunContext) -> None:
    """Note for the sandbox which of these files there are now."""
    context.git.named_files = tuple(_named(context, await context.git.all_settings()))


async def record(context: RunContext, name: str) -> None:
    """Record these files before an agent starts; keep what an interrupted attempt has recorded."""
    await find(context)
    path, names = _path(context, name), [*context.git.named_files, *_own(context.folder)]
    if context.records.read(path, context.worker) is not None:
        return
    context.records.keep_only(path, context.worker)
    if not names:
        return
    absent = [file for file in names if not os.path.lexists(context.folder / file)]
    entries = recorded_files.record(context, names, path.parent)
    context.records.write_json(path, {"entries": entries, "absent": absent}, context.worker)


def carry_changes(context: RunContext, name: str, is_of_user: Callable[[str], bool]) -> None:
    """Record the files again that the user changed after an interrupted attempt had recorded them."""
    path = _path(context, name)
    value = context.records.read_json(path, context.worker)
    if not isinstance(value, dict):
        return
    now = recorded_files.record(context, [*value["entries"], *value["absent"]], path.parent)
    entries = recorded_files.carry_changes(value["entries"], now, is_of_user)
    if entries != value["entries"]:
        absent = [file for file in value["absent"] if file not in entries]
        context.records.write_json(path, {"entries": entries, "absent": absent}, context.worker)


def restore(context: RunContext, name: str) -> list[FileReport]:
    """Restore what was changed, deleted or added since it was recorded; git is not started."""
    value = context.records.read_json(_path(context, name), context.worker)
    if not isinstance(value, dict):
        return []
    new = (file for file in _own(context.folder) if file not in value["entries"])
    return _restore(context, value["entries"], [*value["absent"], *new])


@contextmanager
def kept_during_check(context: RunContext, *, is_setup: bool) -> Iterator[None]:
    """Restore what git's configuration names after a check, before git starts again; a setup may install it."""
    if not context.git.named_files:
        yield
        return
    folder = disk.make_private_folder(context.run_folder / FOLDER)
    entries = recorded_files.record(context, context.git.named_files, folder)
    missing = [file for file in context.git.named_files if not os.path.lexists(context.folder / file)]
    absent = [] if is_setup else missing
    try:
        yield
    finally:
        for report in _restore(context, entries, absent):
            context.say(f"{report.path}: {report.what}")


def _restore(context: RunContext, entries: recorded_files.Entries, absent: Iterable[str]) -> list[FileReport]:
    repairs = list(recorded_files.find_changed(context, entries, context.run_folder / FOLDER, _WHY))
    for file in absent:
        if os.path.lexists(context.folder / file):
            repairs.append(Repair(file, f"it was added, and {_WHY}", None))
    apply(context, repairs)
    return [FileReport(repair.path, f"{repair.what}; it was restored") for repair in dict.fromkeys(repairs)]


def _path(context: RunContext, name: str) -> Path:
    return context.run_folder / FOLDER / f"{name}.json"


def _named(context: RunContext, settings: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the files that settings name, existing or not, and the virtual environments of programs."""
    home, common = Path(context.environment.get("HOME") or "/"), find_common_folder(context.folder)
    found: dict[str, None] = {}
    for name, value in settings:
        if _INCLUDES.fullmatch(name):
            places = [folder / _expand(value, home) for folder in (context.folder, common, home) if folder is not None]
            found |= dict.fromkeys(_inside(context.folder, places))
        elif _PROGRAMS.fullmatch(name):
            for number, word in enumerate(_words(value)):
                place = context.folder / _expand(word, home)
                # A bare name is searched on PATH, unless it is an argument, and then it must exist.
                if "/" in word or (number > 0 and place.is_file()):
                    found |= dict.fromkeys(_inside(context.folder, [place]))
    for file in found:
        yield file
        environment = Path(file).parent.parent
        if environment.name and (context.folder / environment / "pyvenv.cfg").is_file():
            yield environment.as_posix()


def _words(value: str) -> list[str]:
    try:
        return shlex.split(value.removeprefix("!"))
    except ValueError:
        return value.split()  # git would refuse it too


def _expand(word: str, home: Path) -> str:
    return f"{home}/{word[2:]}" if word.startswith("~/") else word


def _inside(top: Path, places: Iterable[Path]) -> Iterator[str]:
    """Yield the names of places in the working copy, and of what they lead to there; not of folders or in `.git`."""
    real = os.path.realpath(top)
    for place in places:
        for path in dict.fromkeys((os.path.normpath(place), os.path.realpath(place))):
            for folder in dict.fromkeys((str(top), real)):
                name = os.path.relpath(path, folder)
                is_inside = not name.startswith("../") and name not in (".", "..")
                if is_inside and ".git" not in Path(name).parts and not os.path.isdir(path):
                    yield name


def _own(top: Path) -> list[str]:
    """Return the files that Bridle's Python runs at its start, if its environment is in the working copy."""
    prefix = Path(sys.prefix)
    if not prefix.is_relative_to(top):
        return []
    packages = [path for path in map(Path, sys.path) if path.is_relative_to(prefix) and path.name == "site-packages"]
    found = [path for pattern in _OF_ENVIRONMENT for path in prefix.glob(pattern)]
    found += [path for folder in packages for pattern in _AT_START for path in folder.glob(pattern)]
    return [path.relative_to(top).as_posix() for path in sorted(found)]
