"""Names of the Python modules that are installed for the programs of checks: test runners, their plugins, and more.

A module of such a name in a folder that a check imports from would be imported instead, by pytest before any test runs.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from bridle.ground import disk

# Badly packaged distributions install these beside their own module; projects use the same names, and no runner does.
_COMMON = frozenset(
    {"bench", "benchmark", "benchmarks", "bin", "build", "data", "dist", "doc", "docs", "example", "examples"}
    | {
        "helpers",
        "lib",
        "samples",
        "script",
        "scripts",
        "setup",
        "src",
        "test",
        "testing",
        "tests",
        "tools",
        "util",
        "utils",
    }
)
_PLACES = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "lib64/python3*/site-packages")
_ENVIRONMENTS = (".venv", "venv", "env", ".tox/*", ".nox/*")
_MODULE = re.compile(r"([A-Za-z_]\w*)(?:\.py|\.[\w.-]*so|\.pyd)?")
_LINE_BYTES = 512


def installed_names(folder: Path, programs: Iterable[str], environment: Mapping[str, str]) -> frozenset[str]:
    """Return the names of all modules that are installed where one of these programs would import from."""
    prefixes = dict.fromkeys(_prefixes(folder, programs, environment))
    places = {place.resolve() for prefix in prefixes for pattern in _PLACES for place in prefix.glob(pattern)}
    return frozenset(name for place in places for name in _modules(place)) - _COMMON


def _prefixes(folder: Path, programs: Iterable[str], environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders of Python installations: those of the programs, of the user, and in the working copy."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if environment.get(name):
            yield Path(environment[name])
    if environment.get("HOME"):
        yield Path(environment["HOME"], ".local")
    for pattern in _ENVIRONMENTS:
        yield from folder.glob(pattern)
    for program in programs:
        found = str(folder / program) if "/" in program else shutil.which(program, path=environment.get("PATH", ""))
        if found is not None and os.path.isfile(found):
            for path in (found, os.path.realpath(found), *_interpreters(found)):
                yield Path(path).parent.parent


def _interpreters(program: str) -> Iterator[str]:
    """Yield the interpreter in the first line of a program, and what that is a link to."""
    first = (disk.read_part(program, _LINE_BYTES) or b"").partition(b"\n")[0]
    if first.startswith(b"#!/"):
        path = os.fsdecode(first[2:].split()[0])
        yield from (path, os.path.realpath(path))


def _modules(place: Path) -> Iterator[str]:
    try:
        names = os.listdir(place)
    except OSError:
        return
    for name in names:
        if (module := _MODULE.fullmatch(name)) is not None:
            yield module[1]
