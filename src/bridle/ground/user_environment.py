"""The environment of agents and checks: the user's, without a virtual environment that only holds Bridle.

An activated environment of Bridle, or the one that `uvx` makes, is first on PATH: a check that says `python3` would get
a Python without the project's packages.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

OWN_NAMES = frozenset({"bridle", "bridle-cli"})
# What tools put into every new environment.
_INSTALLERS = frozenset({"pip", "setuptools", "wheel", "uv"})
_VARIABLES = ("VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT")


def user_environment(environment: Mapping[str, str], prefix: str = "") -> dict[str, str]:
    """Return the environment with the programs of Bridle's own virtual environment last on PATH.

    An environment that holds other packages too is the project's, and stays as it is.
    """
    prefix = prefix or (sys.prefix if sys.prefix != sys.base_prefix else "")
    programs = os.path.join(prefix, "bin")
    entries = environment.get("PATH", os.defpath).split(os.pathsep)
    own = [entry for entry in entries if prefix and _is_same(entry, programs)]
    is_active = bool(prefix) and _is_same(environment.get("VIRTUAL_ENV", ""), prefix)
    if not (own or is_active) or not only_holds_bridle(prefix):
        return dict(environment)
    others = [entry for entry in entries if entry not in own]
    changed = {**environment, "PATH": os.pathsep.join((*others, *own[:1]))}
    return {name: value for name, value in changed.items() if not (is_active and name in _VARIABLES)}


@cache
def only_holds_bridle(prefix: str) -> bool:
    """Return whether every package of a virtual environment is Bridle or one that it requires."""
    installed = _installed_packages(prefix)
    needed = {*_INSTALLERS, *OWN_NAMES}
    unread = set(OWN_NAMES & installed.keys())
    if not unread:
        return False
    while unread:
        required = {other for name in unread for other in _required(installed[name])}
        unread, needed = (required - needed) & installed.keys(), needed | required
    return installed.keys() <= needed


def _installed_packages(prefix: str) -> dict[str, Path]:
    """Return the folder with the facts of each package of a virtual environment, by the package's name."""
    import sysconfig  # late: most starts do not need it

    variables = {"base": prefix, "platbase": prefix}
    folders = {sysconfig.get_path(kind, "venv", variables) for kind in ("purelib", "platlib")}
    found = (path for folder in sorted(folders) for path in Path(folder).glob("*-info"))
    return {_normalize(path.name.split("-", 1)[0]): path for path in found}


def _required(folder: Path) -> set[str]:
    """Return the names of the packages that a package requires, extras included."""
    from importlib.metadata import PathDistribution

    texts = PathDistribution(folder).requires or ()
    return {_normalize(re.split(r"[^\w.-]", text.strip(), maxsplit=1)[0]) for text in texts}


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_same(path: str, other: str) -> bool:
    return bool(path) and os.path.realpath(path) == os.path.realpath(other)
