"""What a working copy was when the run began: its tree, the person's own files in it, and everything protected.

Written once, by `bridle.prepare`, before any agent has worked; from then on only read.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bridle.errors import DiskError, InternalError, JournalBroken
from bridle.ground import disk, ids
from bridle.loop.protection import file_states
from bridle.loop.protection.file_states import Entry
from bridle.loop.protection.find import definitions
from bridle.loop.protection.findings import RepositoryFiles
from bridle.loop.protection.protected_parts import Protected
from bridle.loop.settings.bridle_toml import FILE_NAME
from bridle.loop.text.path_patterns import matches
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import read_note
from bridle.workspace.snapshot import commit_tree, index_of_all, tree_of_all, tree_of_index

FILE = "bridle-origin.json"
REFS = "refs/bridle/origins/"
OUR_FOLDER = ".ralph"
OWN_CHECK = ".ralph/check"
THE_PLAN = "it is the plan"

# What Bridle itself writes while it runs.
_OURS = (".ralph/logs/", ".ralph/state/", ".ralph/worktrees/", ".ralph/progress.md")
# Files that define checks are small; a larger one of such a name is something else.
_TEXT_LIMIT_BYTES = 4 * 1024 * 1024
_RECORD_LIMIT_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class Baseline:
    """The start of a run."""

    work: str
    """The tree that a commit of everything but the person's own untracked files would have had."""
    untracked: tuple[str, ...]
    """Files that were there and in no commit: the person's, and left alone."""
    protected: Protected
    kept: Mapping[str, Entry]
    """Each protected file that was there."""
    digest: str = field(default="", compare=False)
    """Of the record: whoever has it knows that the record is the one that was made."""

    def lines(self) -> list[str]:
        """What is protected, for people and prompts."""
        return self.protected.lines(self.kept)


async def record(context: RunContext) -> Baseline:
    """Look at the working copy before any work, and write down what it is like."""
    listed = await context.git.names("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    others = await context.git.names("ls-files", "-z", "--others", "--exclude-standard")
    untracked = tuple(sorted(name for name in others if not name.endswith("/")))
    names = sorted({*listed, *_in_our_folder(context.folder)})
    protected = find_protected(context, names)
    made = Baseline(await tree_without(context, untracked), untracked, protected, await _keep(context, protected.paths))
    data = json.dumps(_as_json(made)).encode("ascii")  # names that are no text survive as escapes
    disk.make_private_folder(context.run_folder)
    disk.write_atomic(context.run_folder / FILE, data)
    return replace(made, digest=_digest(data))


def read(context: RunContext, *, digest: str | None = None) -> Baseline:
    """What `record` wrote; with `digest`, only that very record will do."""
    found = find(context)
    if found is None:
        raise InternalError(f"the run {context.run} has no record of its start: bridle.prepare comes first")
    if digest and found.digest != digest:
        raise JournalBroken(
            f"{context.run_folder / FILE} is not the record that was made when the run began",
            remedy="Something changed it since; start a new run, whose start will be what is there now.",
        )
    return found


def find(context: RunContext) -> Baseline | None:
    """What `record` wrote; None where nothing was."""
    path = context.run_folder / FILE
    data = disk.read_if_exists(path, _RECORD_LIMIT_BYTES)
    if data is None:
        return None
    try:
        found = replace(_from_json(json.loads(data)), digest=_digest(data))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise JournalBroken(f"{path} cannot be read: {error}", remedy="Start a new run.") from error
    made = () if context.repository is None else read_note(context.folder).made
    return replace(found, untracked=tuple(sorted({*found.untracked, *made}))) if made else found


def find_protected(context: RunContext, names: list[str]) -> Protected:
    """What is protected, as the files stand now."""
    folder, plan, settings = context.folder, context.plan, context.settings
    look = RepositoryFiles(names, lambda path: _is_file(folder, path), lambda path: _text(folder, path))
    commands = [*plan.guard, *(command for task in plan.tasks for command in task.checks)]
    found = definitions(commands, look)
    files = dict(found.files)
    for pattern in settings.protect:
        files |= {name: "the setting `protect` names it" for name in names if matches(pattern, name)}
    files |= {name: "it is Bridle's" for name in names if name.startswith(f"{OUR_FOLDER}/")}
    files |= {name: "it holds Bridle's settings" for name in names if Path(name).name == FILE_NAME}
    if (own := _plan_path(context)) is not None:
        files[own] = THE_PLAN
    absent = dict(found.absent)
    for path, why in ((FILE_NAME, "it would hold Bridle's settings"), (OWN_CHECK, "it would be a check")):
        if path not in files:
            absent[path] = f"{why}, and was not there when the run began"
    parts = tuple(part for part in found.parts if part.path not in files)
    return replace(found, files=dict(sorted(files.items())), parts=parts, absent=absent)


async def tree_without(context: RunContext, untracked: tuple[str, ...]) -> str:
    """The tree of everything in the working copy but these files."""
    if not untracked:
        return await tree_of_all(context.git, as_committed=True)
    async with index_of_all(context.git, as_committed=True) as variables:
        return await write_tree(context, variables, untracked)


async def write_tree(context: RunContext, variables: Mapping[str, str], untracked: tuple[str, ...]) -> str:
    """The tree of a private index, without these files; the index keeps them."""
    whole = await tree_of_index(context.git, variables)
    if not untracked:
        return whole
    other = Path(variables["GIT_INDEX_FILE"]).with_suffix(f".{ids.new_token()}.index")
    own = {"GIT_INDEX_FILE": str(other)}
    try:
        await context.git.run("read-tree", whole, variables=own)
        given = b"".join(os.fsencode(name) + b"\0" for name in untracked)
        await context.git.run("update-index", "--force-remove", "-z", "--stdin", given=given, variables=own)
        return await context.git.text("write-tree", variables=own)
    finally:
        other.unlink(missing_ok=True)


async def _keep(context: RunContext, paths: list[str]) -> dict[str, Entry]:
    """Put the bytes of these files into the repository, where nothing collects them; gives those that are there."""
    digest = file_states.digest_of(context.base)
    entries = {path: entry for path in paths if (entry := file_states.entry_at(context.folder, path, digest=digest))}
    for path in paths:
        if path not in entries and (context.folder / path).is_file():
            context.say(f"{path} is larger than {file_states.LIMIT_BYTES} bytes, and is not protected")
    for path, entry in entries.items():
        if entry.mode == file_states.LINK or "\n" in path:
            given = os.fsencode(os.readlink(context.folder / path)) if entry.mode == file_states.LINK else None
            data = given if given is not None else disk.read_bounded(context.folder / path, file_states.LIMIT_BYTES)
            await context.git.run("hash-object", "-w", "--no-filters", "--stdin", given=data)
    plain = [path for path, entry in entries.items() if entry.mode != file_states.LINK and "\n" not in path]
    if plain:
        listed = b"".join(os.fsencode(path) + b"\n" for path in plain)
        await context.git.run("hash-object", "-w", "--no-filters", "--stdin-paths", given=listed)
    await _hold(context, entries)
    return entries


async def _hold(context: RunContext, entries: Mapping[str, Entry]) -> None:
    """Have a ref that leads to the bytes."""
    path = disk.make_private_folder(context.run_folder) / f"bridle-{ids.new_token()}.index"
    own = {"GIT_INDEX_FILE": str(path)}
    lines = (f"{entry.mode} {entry.object}\t".encode() + os.fsencode(name) for name, entry in entries.items())
    try:
        await context.git.run("update-index", "-z", "--index-info", given=b"\0".join(lines), variables=own)
        tree = await context.git.text("write-tree", variables=own)
    finally:
        path.unlink(missing_ok=True)
    commit = await commit_tree(context.git, tree, [], f"protected in the run {context.run}")
    await context.git.run("update-ref", REFS + ids.check_id(context.run, what="run"), commit)


def _in_our_folder(folder: Path) -> Iterator[str]:
    """What a person keeps in `.ralph`."""
    for root, folders, files in os.walk(folder / OUR_FOLDER):
        here = Path(root).relative_to(folder).as_posix()
        folders[:] = [name for name in folders if not f"{here}/{name}/".startswith(_OURS)]
        yield from (path for name in files if not (path := f"{here}/{name}").startswith(_OURS))


def _plan_path(context: RunContext) -> str | None:
    """The plan as seen from the top; None where it is elsewhere."""
    if context.plan.path is None:
        return None
    path, top = Path(os.path.realpath(context.plan.path)), Path(os.path.realpath(context.folder))
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else None


def _is_file(folder: Path, path: str) -> bool:
    try:
        mode = (folder / path).lstat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _text(folder: Path, path: str) -> str | None:
    """What is in a file, unless it is a link, no text, or far too long."""
    if not _is_file(folder, path) or (folder / path).is_symlink():
        return None
    try:
        return disk.read_bounded(folder / path, _TEXT_LIMIT_BYTES).decode("utf-8")
    except (DiskError, UnicodeDecodeError):
        return None


def _as_json(origin: Baseline) -> dict[str, Any]:
    return {
        "work": origin.work,
        "untracked": list(origin.untracked),
        "protected": origin.protected.as_json(),
        "kept": {path: [entry.mode, entry.object] for path, entry in origin.kept.items()},
    }


def _from_json(value: Mapping[str, Any]) -> Baseline:
    return Baseline(
        value["work"],
        tuple(value["untracked"]),
        Protected.from_json(value["protected"]),
        {path: Entry(mode, one) for path, (mode, one) in value["kept"].items()},
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
