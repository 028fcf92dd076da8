"""Which checks have passed on which files before any work, in Bridle's home folder: they do not run again.

Failures are not kept: what was missing may have been installed since.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import msgspec

from bridle import __version__
from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.home import bridle_home
from bridle.loop.working_copy.run_context import RunContext

FOLDER = "baselines"
_LIMIT_BYTES = 4 * 1024 * 1024


class CachedBaseline(msgspec.Struct, frozen=True, kw_only=True):
    """The commands that passed, and what they passed with."""

    tree: str
    setting: str
    """What else a result depends on: the version of Bridle, the sandbox and the setup."""
    passed: tuple[str, ...]


def read(context: RunContext, tree: str) -> frozenset[str]:
    """Return the commands that have passed on these files."""
    try:
        data = disk.read_if_exists(_path(context), _LIMIT_BYTES)
        cached = None if data is None else msgspec.json.decode(data, type=CachedBaseline)
    except (DiskError, msgspec.DecodeError):
        return frozenset()
    is_same = cached is not None and (cached.tree, cached.setting) == (tree, _setting(context))
    return frozenset(cached.passed) if cached is not None and is_same else frozenset()


def write(context: RunContext, tree: str, passed: Iterable[str]) -> None:
    """Keep the commands that passed; a failed write is not an error: they run again."""
    known = sorted({*read(context, tree), *passed})
    if not known:
        return
    cached = CachedBaseline(tree=tree, setting=_setting(context), passed=tuple(known))
    try:
        disk.make_private_folder(_path(context).parent)
        disk.replace_cache(_path(context), msgspec.json.encode(cached))
    except (DiskError, UnicodeError, msgspec.MsgspecError):
        pass


def _path(context: RunContext) -> Path:
    repository = os.path.realpath(context.repository or context.folder)
    return bridle_home(os.environ) / FOLDER / sha256(os.fsencode(repository)).hexdigest()[:32]


def _setting(context: RunContext) -> str:
    setup = "\0".join(context.plan.setup)
    path = context.environment.get("PATH", "")
    facts = (__version__, context.sandbox.description, context.settings.clean, setup, path)
    return sha256("\0".join(facts).encode("utf-8", "surrogateescape")).hexdigest()
