"""The setup of a working copy: commands that install dependencies, and the files they depend on."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from bridle.ground import clock
from bridle.loop.checks import environment
from bridle.loop.checks.run_check import run_check
from bridle.loop.effect_results import CheckResult
from bridle.loop.effects import OF_GUARD, Check
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import read_note, restore_tree, write_note
from bridle.workspace.git import Git

LOCK_FILES = frozenset(
    {
        *("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"),
        *("poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "Cargo.lock", "go.sum", "Gemfile.lock"),
        *("composer.lock", "mix.lock"),
    }
)
# Used where there is no lock file in the same folder.
MANIFESTS = frozenset(
    {
        *("package.json", "pyproject.toml", "setup.py", "setup.cfg", "Pipfile", "Cargo.toml", "go.mod", "Gemfile"),
        *("composer.json", "mix.exs"),
    }
)
_REQUIREMENTS = re.compile(r"requirements[^/]*\.(?:txt|in)\Z")


def commands(context: RunContext) -> tuple[str, ...]:
    return context.plan.setup or context.settings.setup


async def run_setup(context: RunContext, *, task: str) -> CheckResult | None:
    """Run the setup; return the result of the command that failed."""
    for number, command in enumerate(commands(context), 1):
        context.say(f"setup: {command}")
        limit = context.settings.setup_seconds
        check = Check(command=command, owner=OF_GUARD)
        result = await run_check(
            context, check, task=f"setup-{task}", number=number, limit_seconds=limit, is_setup=True
        )
        if not result.passed:
            return result
    return None


async def ensure_setup(context: RunContext, tree: str, *, task: str) -> CheckResult | None:
    """Run the setup in a worktree with the files of `tree`, unless its key is unchanged.

    Its changes to files of the tree are reverted. Files that it adds are noted: they are not part of any task's work.
    """
    if not commands(context):
        return None
    key = setup_key(commands(context), await listing(context.git, tree))
    note = read_note(context.folder)
    if note.setup == key:
        return None
    began = clock.now().timestamp()
    failed = await run_setup(context, task=task)
    if failed is not None:
        return failed
    await environment.record(context, since=began)
    names = await context.git.names("ls-files", "-z", "--others", "--exclude-standard")
    made = tuple(name for name in names if not name.endswith("/"))
    write_note(context.folder, replace(note, setup=key, made=made))
    await restore_tree(context, tree)
    return None


def setup_key(setup: Iterable[str], listed: Mapping[str, str]) -> str:
    """Return the key of a setup: a digest of its commands and of the files that pin dependencies."""
    names = {name: posixpath.basename(name) for name in listed}
    locked = {posixpath.dirname(name) for name, own in names.items() if own in LOCK_FILES or _REQUIREMENTS.match(own)}
    pinning = [
        name
        for name, own in names.items()
        if own in LOCK_FILES or _REQUIREMENTS.match(own) or (own in MANIFESTS and posixpath.dirname(name) not in locked)
    ]
    text = "\0".join([*setup, *(f"{name}\0{listed[name]}" for name in sorted(pinning))])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:20]


async def listing(git: Git, tree: str) -> dict[str, str]:
    """Return every file of a tree with its object id."""
    files = {}
    for line in await git.names("ls-tree", "-r", "-z", "--full-tree", tree):
        facts, _, name = line.partition("\t")
        files[name] = facts.split()[2]
    return files
