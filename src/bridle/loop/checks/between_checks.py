"""Protected files between two checks: code that one check runs may not change what the next one does.

A check that changes such a file counts as failed, and the file is restored before the next check. Files that a command
itself names are left out, unless it executes them: they may be its output.
"""

from __future__ import annotations

import dataclasses
import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bridle.loop.checks.fixed_tree import keep_reverted
from bridle.loop.effect_results import CheckResult
from bridle.loop.protection import baseline
from bridle.loop.protection.baseline import Baseline
from bridle.loop.protection.executed_scripts import executed_scripts
from bridle.loop.protection.file_states import FILE, LINK, PROGRAM, Entry, digest_of, object_id
from bridle.loop.protection.protected_parts import MAKE, Protected
from bridle.loop.protection.recorded import recorded_files
from bridle.loop.protection.repairs import ExpectedFile, Repair, apply, repairs
from bridle.loop.protection.shell_commands import candidates, join, simple_commands
from bridle.loop.text.path_patterns import matches
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.merge import tree_of_entries


class ProtectedFiles(Struct, frozen=True):
    """The protected files before a check."""

    start: Baseline
    versions: Mapping[str, ExpectedFile]
    different: frozenset[str]
    """Protected files that the task may edit, and files that were added before."""

    async def restore(self, context: RunContext, result: CheckResult) -> CheckResult:
        """Restore what a check has changed; return its result, which is then a failed one."""
        left_out = {*_named(result.command), *self.different}
        found = await repairs(context, self.start, self.versions, (), ())
        changed = [repair for repair in found if repair.path not in left_out]
        if not changed:
            return result
        kept = await _keep(context, changed)
        apply(context, changed)
        gap = "" if not result.output or result.output.endswith("\n") else "\n"
        names = ", ".join(repair.path for repair in changed)
        note = f"[it changed {names} while it ran, which other checks use; restored before the next check]\n"
        if kept:
            note += f"[the change is kept as {kept}]\n"
            context.say(f"a check changed {names}; the change was reverted, and is kept as {kept}")
        return replace(result, exit_code=result.exit_code or 1, output=f"{result.output}{gap}{note}")


async def read_protected(context: RunContext, task: str) -> ProtectedFiles | None:
    """Read the protected files before a check that others follow; None if nothing is recorded."""
    recorded = baseline.find(context)
    if recorded is None:
        return None
    start = dataclasses.replace(recorded, protected=_without_targets(recorded.protected))
    digest = digest_of(context.base)
    versions = {}
    for path in start.protected.paths:
        file = recorded_files.read(context.folder / path)
        if file is not None:
            versions[path] = ExpectedFile(Entry(file[0], object_id(file[1], digest)), file[1])
    added = {repair.path for repair in await repairs(context, start, versions, (), ())}
    allowed = [pattern for one in context.plan.tasks if one.title == task for pattern in one.may_edit]
    may_edit = {path for path in versions if any(matches(pattern, path) for pattern in allowed)}
    return ProtectedFiles(start, versions, frozenset(added | may_edit))


async def _keep(context: RunContext, changed: Sequence[Repair]) -> str:
    """Return a ref that keeps these files as they are: the user may have changed them; "" if none exists."""
    entries = []
    for path in (path for repair in changed for path in _files_at(context.folder, repair.path)):
        place = context.folder / path
        if place.is_symlink():
            mode, words, data = LINK, ["--stdin"], os.fsencode(os.readlink(place))
        else:
            mode, words, data = PROGRAM if os.access(place, os.X_OK) else FILE, ["--", path], b""
        code, name = await context.git.run("hash-object", "-w", "--no-filters", *words, stdin=data, accepts=(0, 128))
        if code == 0:
            entries.append(f"{mode} {name.strip()}\t{path}")
    return await keep_reverted(context, await tree_of_entries(context.git, entries)) if entries else ""


def _files_at(folder: Path, path: str) -> Iterator[str]:
    """Yield a file or link of that path, or all in a folder of it."""
    place = folder / path
    if place.is_symlink() or place.is_file():
        yield path
    for here, _, names in os.walk(place) if not place.is_symlink() else ():
        inside = (Path(here, name) for name in names)
        yield from (str(one.relative_to(folder)) for one in inside if one.is_symlink() or one.is_file())


def _without_targets(protected: Protected) -> Protected:
    """Return what is protected without the names of make's targets: a check may make these files."""
    parts = [part for part in protected.parts if part.kind == MAKE]
    targets = {join(posixpath.dirname(part.path), name) for part in parts for name in part.names}
    return replace(protected, absent={path: why for path, why in protected.absent.items() if path not in targets})


def _named(command: str) -> Iterator[str]:
    """Yield the paths that a command names and does not execute."""
    for simple in simple_commands(command):
        scripts = {script.word for script in executed_scripts(simple)}
        for word in simple.words:
            if word not in scripts:
                yield from (join(simple.folder, path) for path in candidates(word))
