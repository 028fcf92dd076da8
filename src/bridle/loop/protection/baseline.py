"""The baseline of a run: the tree of its working copy, the user's untracked files, and what is protected.

Recorded once by `bridle.prepare` before any agent runs. After that only what the user changes while no driver runs is
added to it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace

from bridle.errors import DiskError, InternalError, JournalBroken
from bridle.ground import disk, ids
from bridle.loop.protection import file_states
from bridle.loop.protection.file_states import Entry
from bridle.loop.protection.find import find_definitions
from bridle.loop.protection.findings import RepositoryFiles
from bridle.loop.protection.imports.python_modules import find_replacing
from bridle.loop.protection.protected_parts import Protected
from bridle.loop.protection.runner_table import INSTALLED
from bridle.loop.protection.tree_changes import changes_since
from bridle.loop.settings.bridle_toml import FILE_NAME
from bridle.loop.text.path_patterns import matches
from bridle.loop.working_copy import output_names, recorded_hooks
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import read_note
from bridle.workspace import marks, partial_tree, snapshot
from bridle.workspace.merge import overlay
from bridle.workspace.snapshot import changes, commit_tree, staged_tree, tree_of_all

REFS = "refs/bridle/origins/"
OUR_FOLDER = ".ralph"
OWN_CHECK = ".ralph/check"
# Recorded in baselines, and compared with them.
THE_PLAN = "it is the plan"
PROTECT_SETTING = "the setting `protect` names it"

# Files that Bridle itself writes during a run.
_OURS = (".ralph/logs/", ".ralph/state/", ".ralph/worktrees/", ".ralph/progress.md")
# Files that define checks are small; a larger one is data.
_TEXT_LIMIT_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Baseline:
    """The state of a working copy when the run began."""

    work: str
    """The tree of everything but the user's untracked files, and with the committed versions of `local`."""
    untracked: tuple[str, ...]
    """The user's untracked files and nested repositories, which are left alone."""
    protected: Protected
    kept: Mapping[str, Entry]
    """Each protected file that existed."""
    adopted: Mapping[str, str] = field(default_factory=dict)
    """Each file that the user changed since the run began, with the run's newest commit at that time."""
    local: Mapping[str, str] = field(default_factory=dict)
    """Files marked skip-worktree or assume-unchanged, and submodules, with changes of the user in no commit.

    Each with a commit that has the version without these changes."""
    digest: str = field(default="", compare=False)
    """The digest of the record, which proves that it was not changed since."""

    def lines(self) -> list[str]:
        """List what is protected, for users and prompts."""
        return self.protected.lines(self.kept)


def record_path(context: RunContext) -> Path:
    """Return the file of the baseline: a new one each time that changes of the user were added."""
    number = f"-{context.changes_adopted}" if context.changes_adopted else ""
    return context.run_folder / f"bridle-origin{number}.json"


def began(context: RunContext) -> float | None:
    """Return when the baseline was recorded first: before any agent ran; None if it was not."""
    path = record_path(replace(context, changes_adopted=0))
    context.records.read(path, None)
    return context.records.time_of(path)


async def record(context: RunContext) -> Baseline:
    """Record the working copy before any agent runs."""
    listed = await context.git.names("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    untracked = tuple(sorted(await untracked_files(context)))
    names = sorted({*listed, *_in_our_folder(context.folder)})
    protected = find_protected(context, names)
    kept = await _keep(context, protected.paths)
    local = dict.fromkeys([*await local_changes(context), *await _moved_submodules(context)], context.base)
    work = await _without_local(context, await _tree_without(context, untracked), local)
    return _write(context, Baseline(work, untracked, protected, kept, local=local))


async def local_changes(context: RunContext) -> list[str]:
    """Return the files with changes that the user hides from git by a mark, and those that steer the run."""
    git, steering = context.git, await _steering_files(context)
    found = await marks.read(git)
    hidden = {*found.tags} - found.absent  # a sparse checkout marks the files that it leaves out
    if not hidden:
        return sorted(steering)
    changed = await changes(git, await staged_tree(git), await tree_of_all(git, as_committed=True))
    return sorted(hidden.intersection(changed) | steering)


async def _steering_files(context: RunContext) -> set[str]:
    """Return the plan and the settings of Bridle where they have changes of the user that no commit contains."""
    if context.repository is not None:
        return set()  # in a worktree they are those of a commit
    plan = plan_path(context)
    paths = [f":(top,glob)**/{FILE_NAME}", *([] if plan is None else [f":(top,literal){plan}"])]
    # One that the user deleted or renamed is a change like others.
    options = ("--name-only", "--no-renames", "--diff-filter=d", "-z")
    return {*await context.git.names("diff", *options, "HEAD", "--", *paths)}


async def _moved_submodules(context: RunContext) -> list[str]:
    """Return the submodules with another commit than HEAD's, which cannot be put aside as files are."""
    if not context.settings.allow_dirty or not os.path.lexists(context.folder / ".gitmodules"):
        return []
    tree = await tree_of_all(context.git, as_committed=True)
    found = await changes_since(context, await context.git.tree_of(context.base), tree, leave=())
    return [change.path for change in found if change.is_repository and not change.is_new]


async def untracked_files(context: RunContext) -> list[str]:
    """Return the files and nested repositories that git neither tracks nor ignores."""
    others = await context.git.names("ls-files", "-z", "--others", "--exclude-standard")
    return [name.removesuffix("/") for name in others]


async def adopt(
    context: RunContext,
    paths: Collection[str],
    new_untracked: Collection[str],
    tip: str,
    *,
    added: Collection[str],
    before: str,
    with_new_marks: bool,
    has_new_plan: bool = False,
) -> Baseline:
    """Record the files that the user changed while no driver ran as they are now; leave all others as recorded.

    The record before is kept: it is evidence of the results that were decided with it. `added`: untracked files that
    the user has added to git. `before`: the tree without the user's changes. `with_new_marks`: files that are marked as
    unchanged now were marked by the user, not by a killed agent.
    """
    old, changed = read(context), frozenset(paths)
    cached = await context.git.names("ls-files", "-z", "--cached")
    others = await context.git.names("ls-files", "-z", "--others", "--exclude-standard")
    gone = {name for name in changed if not os.path.lexists(context.folder / name)}
    untracked = tuple(sorted(({*old.untracked} - {*added} - gone) | {*new_untracked}))
    now = find_protected(context, sorted({*cached, *others, *_in_our_folder(context.folder)}))
    if has_new_plan:  # files that its checks name are protected as they are now
        changed |= {*now.paths} - {*old.protected.paths}
    now = await _without_work(context, now, old, before, changed)
    files = {path: why for path, why in old.protected.files.items() if path not in changed} | {
        path: why for path, why in now.files.items() if path in changed
    }
    parts = [part for part in old.protected.parts if part.path not in changed]
    parts += [part for part in now.parts if part.path in changed and part.path not in files]
    absent = {path: why for path, why in old.protected.absent.items() if path not in changed or path in now.absent}
    modules = tuple(sorted({*old.protected.python_modules, *changed.intersection(now.python_modules)}))
    protected = replace(
        old.protected,
        files=dict(sorted(files.items())),
        parts=tuple(parts),
        absent=absent,
        python_modules=modules,
    )
    kept = {path: entry for path, entry in old.kept.items() if path not in changed}
    kept |= await _keep(context, [path for path in protected.paths if path in changed], others=kept)
    local = {name: tip for name in await local_changes(context) if with_new_marks or name in old.local}
    local |= {name: tip for name in old.local if (context.folder / name).is_dir()}  # submodules
    work = await _without_local(context, await _tree_without(context, untracked), local)
    work = await overlay(context.git, old.work, work, changed)
    adopted = {**old.adopted, **dict.fromkeys(changed & {*protected.paths}, tip)}
    number = context.changes_adopted + 1
    # No other ref has this tree: the next garbage collection would remove it.
    name = f"{context.run.lower()}-baseline-{number}"
    await snapshot.write(
        context.git, name, tree=work, index_tree=work, head=tip, marked="", why="the baseline with changes of the user"
    )
    after = replace(context, changes_adopted=number)
    return _write(after, Baseline(work, untracked, protected, kept, adopted, local))


async def _without_work(
    context: RunContext, now: Protected, old: Baseline, before: str, changed: Collection[str]
) -> Protected:
    """Return what is protected without files that agents have made: the user's edits of them are part of the work."""
    known = {*old.protected.paths, *old.untracked}
    if all(path in known or path not in changed for path in now.paths):
        return now
    words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A")
    made = {*await context.git.names(*words, context.base, before)} - known
    files = {path: why for path, why in now.files.items() if path not in made}
    return replace(now, files=files, parts=tuple(part for part in now.parts if part.path not in made))


def _write(context: RunContext, recorded: Baseline) -> Baseline:
    data = json.dumps(_as_json(recorded)).encode("ascii")  # names that are not UTF-8 survive as escapes
    context.records.write(record_path(context), data, None)
    return dataclasses.replace(recorded, digest=_digest(data))


def read(context: RunContext, *, digest: str | None = None) -> Baseline:
    """Return the recorded baseline. Raises JournalBroken if its digest is not `digest`."""
    recorded = find(context)
    if recorded is None:
        raise InternalError(f"the run {context.run} has no baseline: bridle.prepare must run first")
    if digest and recorded.digest != digest:
        raise JournalBroken(
            f"{record_path(context)} was changed after the run began",
            remedy="Start a new run, which takes the current files as its baseline.",
        )
    return recorded


def find(context: RunContext) -> Baseline | None:
    """Return the recorded baseline, or None."""
    path = record_path(context)
    data = context.records.read(path, None)
    if data is None:
        return None
    try:
        recorded = _parse(data)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise JournalBroken(f"cannot read {path}: {error}", remedy="Start a new run.") from error
    more = {*output_names.read(context)}
    if context.repository is not None:
        more.update(read_note(context.folder).made)
    return dataclasses.replace(recorded, untracked=tuple(sorted({*recorded.untracked, *more}))) if more else recorded


def find_protected(context: RunContext, names: list[str]) -> Protected:
    """Return what is protected, from the current files."""
    folder, plan, settings = context.folder, context.plan, context.settings
    repository = RepositoryFiles(names, lambda path: _is_file(folder, path), lambda path: _text(folder, path))
    commands = [*plan.guard, *(command for task in plan.tasks for command in task.checks)]
    definitions = find_definitions(commands, repository)
    files = dict(definitions.files)
    for pattern in settings.protect:
        files |= {name: PROTECT_SETTING for name in names if matches(pattern, name)}
    # Each worktree has its own of these: see `check_programs`.
    known = frozenset(names)
    files = {name: why for name, why in files.items() if name in known or not INSTALLED.intersection(name.split("/"))}
    # An ignored program that make builds is output: the checks run again without it.
    files = {name: why for name, why in files.items() if name in known or name not in definitions.made}
    files |= {name: "it belongs to Bridle" for name in names if name.startswith(f"{OUR_FOLDER}/")}
    files |= {name: "it has Bridle's settings" for name in names if Path(name).name == FILE_NAME}
    if (own := plan_path(context)) is not None:
        files[own] = THE_PLAN
    files |= dict.fromkeys(recorded_hooks.in_working_copy(context), "it is a git hook that decides about commits")
    absent = {path: why for path, why in definitions.absent.items() if not os.path.lexists(folder / path)}
    for path, why in ((FILE_NAME, "it would set Bridle's settings"), (OWN_CHECK, "it would be a check")):
        if path not in files:
            absent[path] = f"{why}, and did not exist when the run began"
    parts = tuple(part for part in definitions.parts if part.path not in files)
    modules = tuple(sorted(path for path, _ in find_replacing(folder, definitions.python_folders)))
    return replace(definitions, files=dict(sorted(files.items())), parts=parts, absent=absent, python_modules=modules)


async def work_in(context: RunContext, tree: str) -> str:
    """Return a tree of all files without those that belong to no commit: the user's untracked and local ones."""
    start = find(context)
    if start is None:
        return tree
    tree = await partial_tree.tree_without(context.git, tree, start.untracked)
    return await _without_local(context, tree, start.local)


async def _without_local(context: RunContext, tree: str, local: Mapping[str, str]) -> str:
    for commit in dict.fromkeys(local.values()):
        tree = await overlay(context.git, tree, commit, [name for name in local if local[name] == commit])
    return tree


async def _tree_without(context: RunContext, untracked: tuple[str, ...]) -> str:
    """Return the tree of the working copy without these files, as a commit would contain it."""
    tree = await tree_of_all(context.git, as_committed=True)
    return await partial_tree.tree_without(context.git, tree, untracked)


async def _keep(
    context: RunContext, paths: list[str], others: Mapping[str, Entry] = MappingProxyType({})
) -> dict[str, Entry]:
    """Store the bytes of these files in the repository, under a ref with `others`; return the files that exist."""
    digest = file_states.digest_of(context.base)
    entries = {path: entry for path in paths if (entry := file_states.entry_at(context.folder, path, digest=digest))}
    for path in paths:
        if path not in entries and (context.folder / path).is_file():
            context.say(f"{path} is not protected, because it is larger than {file_states.LIMIT_BYTES} bytes")
    for path, entry in entries.items():
        if entry.mode == file_states.LINK or "\n" in path:
            is_link = entry.mode == file_states.LINK
            place = context.folder / path
            data = os.fsencode(os.readlink(place)) if is_link else disk.read_bounded(place, file_states.LIMIT_BYTES)
            await context.git.run("hash-object", "-w", "--no-filters", "--stdin", stdin=data)
    plain = [path for path, entry in entries.items() if entry.mode != file_states.LINK and "\n" not in path]
    if plain:
        listed = b"".join(os.fsencode(path) + b"\n" for path in plain)
        await context.git.run("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=listed)
    await _add_ref(context, {**others, **entries})
    return entries


async def _add_ref(context: RunContext, entries: Mapping[str, Entry]) -> None:
    """Point a ref at these files, so that git does not collect them."""
    path = disk.make_private_folder(context.run_folder) / f"bridle-{ids.new_token()}.index"
    own = {"GIT_INDEX_FILE": str(path)}
    lines = (f"{entry.mode} {entry.object}\t".encode() + os.fsencode(name) for name, entry in entries.items())
    try:
        await context.git.run("update-index", "-z", "--index-info", stdin=b"\0".join(lines), variables=own)
        tree = await context.git.text("write-tree", variables=own)
    finally:
        path.unlink(missing_ok=True)
    commit = await commit_tree(context.git, tree, [], f"protected in the run {context.run}")
    await context.git.run("update-ref", "--no-deref", REFS + ids.check_id(context.run, what="run"), commit)


def _in_our_folder(folder: Path) -> Iterator[str]:
    """Yield the user's files in `.ralph`."""
    for root, folders, files in os.walk(folder / OUR_FOLDER):
        here = Path(root).relative_to(folder).as_posix()
        folders[:] = [name for name in folders if not f"{here}/{name}/".startswith(_OURS)]
        yield from (path for name in files if not (path := f"{here}/{name}").startswith(_OURS))


def plan_path(context: RunContext) -> str | None:
    """Return the plan's path from the top, or None if it is elsewhere."""
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
    """Return a file's text, or None for a link, other content or a large file."""
    if not _is_file(folder, path) or (folder / path).is_symlink():
        return None
    try:
        return disk.read_bounded(folder / path, _TEXT_LIMIT_BYTES).decode("utf-8")
    except (DiskError, UnicodeDecodeError):
        return None


def _as_json(recorded: Baseline) -> dict[str, Any]:
    return {
        "work": recorded.work,
        "untracked": list(recorded.untracked),
        "protected": recorded.protected.as_json(),
        "kept": msgspec.to_builtins(recorded.kept),
        **({"adopted": dict(recorded.adopted)} if recorded.adopted else {}),
        **({"local": dict(recorded.local)} if recorded.local else {}),
    }


@lru_cache(maxsize=2)  # every effect reads it, and it may name thousands of files
def _parse(data: bytes) -> Baseline:
    return dataclasses.replace(_from_json(json.loads(data)), digest=_digest(data))


def _from_json(value: Mapping[str, Any]) -> Baseline:
    return Baseline(
        value["work"],
        tuple(value["untracked"]),
        Protected.from_json(value["protected"]),
        msgspec.convert(value["kept"], dict[str, Entry]),
        msgspec.convert(value.get("adopted", {}), dict[str, str]),
        msgspec.convert(value.get("local", {}), dict[str, str]),
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
