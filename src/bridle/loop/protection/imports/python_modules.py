"""Modules that Python would import instead of those of its standard library or of a test runner."""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.loop.protection.shell_commands import Simple, candidates, join

# Programs that import modules from the folder in which they run, besides Python itself.
_PROGRAMS = frozenset(
    {"pytest", "unittest", "coverage", "nose2", "tox", "nox", "mypy", "pylint", "flake8", "django-admin"}
)
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
_TEST_MODULES = frozenset(
    {"_pytest", "attr", "coverage", "django", "exceptiongroup", "flake8", "hypothesis", "iniconfig", "mypy", "nose2"}
    | {"nox", "packaging", "pluggy", "py", "pylint", "pytest", "pytest_asyncio", "pytest_cov", "ruff", "tomli", "tox"}
    | {"sitecustomize", "usercustomize", "xdist"}
)
# Modules of the standard library that no runner imports; `test` is a usual name of a folder.
_UNUSED = frozenset({"antigravity", "idlelib", "lib2to3", "test", "this", "tkinter", "turtle", "turtledemo"})
_REPLACEABLE = (sys.stdlib_module_names | _TEST_MODULES) - _UNUSED
_SUFFIXES = (".py", ".pyc", ".so", ".pyd")
_ENTRY_POINTS = "entry_points.txt"
_PLUGIN = "pytest11"
_ENTRY_POINTS_BYTES = 64 * 1024


def folders_on_path(name: str, rest: Simple) -> Iterator[str]:
    """Yield the folders of which a program imports modules, if it is Python or a program in Python."""
    if not _PYTHON.fullmatch(name) and name not in _PROGRAMS:
        return
    yield rest.folder
    for word in rest.words:
        for path in candidates(word) if not word.startswith("-") else ():
            place = join(rest.folder, path)
            if not place.startswith(("/", "../")):
                yield posixpath.dirname(place) if place.endswith(".py") else place


def folders_of_variable(value: str, folder: str) -> Iterator[str]:
    """Yield the folders inside the repository that a PYTHONPATH names."""
    for part in value.split(":"):
        place = join(folder, part)
        if not place.startswith(("/", "../", "$")):
            yield place


def find_replacing(
    top: Path, folders: Iterable[str], names: Collection[str] = _REPLACEABLE
) -> Iterator[tuple[str, str]]:
    """Yield the files in these folders that replace a module, with its name. Folders of packages are left out.

    `names` are those of the modules: of the standard library and of test runners, or others that are installed.
    """
    for folder in folders:
        place = top / folder
        if not place.is_dir() or (folder and (place / "__init__.py").exists()):
            continue
        for name in sorted(os.listdir(place)):
            module = name.partition(".")[0]
            path = posixpath.join(folder, name)
            if module in names and name.endswith(_SUFFIXES):
                yield path, module
            elif name in names and (place / name).is_dir():
                inits = (f"__init__{suffix}" for suffix in _SUFFIXES)
                yield from ((f"{path}/{init}", module) for init in inits if (place / name / init).exists())
            elif name.endswith((".egg-info", ".dist-info")) and _has_plugin(place / name / _ENTRY_POINTS):
                yield f"{path}/{_ENTRY_POINTS}", "pytest"


def _has_plugin(path: Path) -> bool:
    """Return whether a file registers a plugin of pytest."""
    try:
        return path.is_file() and _PLUGIN.encode() in disk.read_bounded(path, _ENTRY_POINTS_BYTES)
    except (OSError, DiskError):
        return False


def is_in_text(path: str, text: str) -> bool:
    """Return whether a text names a module by its file or folder, as a plan does that asks for it."""
    name = posixpath.basename(path)
    end = r"(?![\w-])"
    if name.startswith("__init__."):
        name, end = f"{posixpath.basename(posixpath.dirname(path))}/", ""
    return re.search(rf"(?<![\w.-]){re.escape(name)}{end}", text) is not None
