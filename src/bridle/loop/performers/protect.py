"""Executes `bridle.protect`: restores protected files, and reports what the user should look at."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from bridle.ground import disk
from bridle.loop.checks.fixed_tree import work_tree
from bridle.loop.effect_results import FileReport, ProtectResult
from bridle.loop.effects import ProtectArgs
from bridle.loop.performers.after_agent import remove_special_files, report_forged
from bridle.loop.performers.branch import last_of_run
from bridle.loop.protection import baseline, file_states, untracked_files
from bridle.loop.protection.baseline import Baseline
from bridle.loop.protection.changed_definitions import report_definitions
from bridle.loop.protection.file_states import Entry
from bridle.loop.protection.git_files.submodules import dirty_submodules, empty_in_clones, has_files, nested_changes
from bridle.loop.protection.newly_ignored import changed_ignored_files, newly_ignored_files
from bridle.loop.protection.recorded import check_programs, startup_files
from bridle.loop.protection.repairs import ExpectedFile, Repair, added_files, apply, repairs
from bridle.loop.protection.suites.read_suite import may_hold_tests
from bridle.loop.protection.tree_changes import Change, changes_since, texts_of
from bridle.loop.protection.untracked_files import LostFiles
from bridle.loop.protection.weakened_tests import find_weakened
from bridle.loop.text.path_patterns import matches
from bridle.loop.working_copy import known_files
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_records import CHANGED
from bridle.workspace import snapshot
from bridle.workspace.git_folder.loose_objects import blob_id
from bridle.workspace.read_blob import read_blob

UNDONE_FOLDER = "bridle-undone"
# How many changed test files are compared; an agent that changes more has rewritten the tests.
TEST_FILES = 500
# Files that no commit contains: enough to see which ones a check needs.
SHOWN_NAMES = 20
# The most files that are reported singly.
SHOWN = 20


async def protect(args: ProtectArgs, context: RunContext) -> ProtectResult:
    """Restore every protected part that was changed, and report weakened tests.

    A second attempt after a crash returns the same result: what is undone is written down first.
    """
    changed_records = context.records.restore_changed()
    is_known = known_files.take_over(context, args.kind)
    is_ours = is_known and context.worker is None  # agents in other worktrees share the git folder
    special = remove_special_files(context, is_known=is_ours)
    start = baseline.read(context, digest=args.origin)
    may_edit = list(args.may_edit)
    last = args.tip or await last_of_run(context.git, context)
    last = None if last == context.base else last
    before = args.snapshot or ""
    versions = await _versions(context, start, last, before)
    conftests = await _conftests(context, start)
    startup = startup_files.find_changed(context, before, may_edit)
    not_committed, committed = await startup_files.split(context, startup, start.untracked)
    wanted: dict[str, Repair] = {}
    programs = check_programs.find_changed(context, start.protected, before, may_edit)
    for repair in (*await repairs(context, start, versions, may_edit, conftests), *programs, *not_committed):
        wanted.setdefault(repair.path, repair)
    found = await untracked_files.find_lost(context, start, before, may_edit)
    mine = [Repair(name, untracked_files.DELETED, None) for name in found.names()] if found is not None else []
    records = [Repair(_record_name(context, path), CHANGED, None) for path in changed_records]
    undone = _noted(context, args, [*wanted.values(), *mine, *records])
    apply(context, wanted.values())
    missing = await untracked_files.restore(context, found) if found is not None else []
    tree = await work_tree(context, is_known=is_known and not wanted and found is None)
    changes = await changes_since(context, last or start.work, tree, leave=start.untracked)
    untracked = [change.path for change in changes if change.is_gone and change.path in versions]
    untracked = [path for path in untracked if _is_left(context, path)]
    untracked = [path for path in untracked if not any(matches(pattern, path) for pattern in may_edit)]
    if untracked:
        await context.git.run("add", "--force", "--", *(f":(literal,top){path}" for path in untracked))
        reason = "it is protected, but was removed from git and ignored"
        undone = _noted(context, args, [Repair(path, reason, None) for path in untracked])
        tree = await work_tree(context)
        changes = await changes_since(context, last or start.work, tree, leave=start.untracked)
    left_out = [name for name in context.git.left_out if name not in start.untracked]
    hollow = await empty_in_clones(context, start.work)
    reported = [*await _tests(context, changes), *_report_left_out(left_out), *_report_hollow(hollow)]
    reported += await _others(context, changes, await nested_changes(context, start.work, changes))
    reported += [
        *_report_new_settings(context, start, changes),
        *await report_definitions(context, start.protected, changes),
    ]
    reported += [*committed, *special, *remove_special_files(context, is_known=is_ours)]
    reported += report_forged(context)
    restored = [report.path for report in undone if report.path in start.kept and report.path in start.untracked]
    reported += [*missing, *(found.reports() if found is not None else ())]
    reported = [report for report in reported if report.path not in restored]
    outside = await _outside(context, found, before, with_ignored=not changes)
    outside = [name for name in outside if name not in restored]
    nested = await _nested(context, start, last, changes, tree)
    removed = [change.path for change in changes if _is_removed_from_git(context, change)]
    known_files.hand_over(context, args.kind)
    return ProtectResult(
        tree=tree,
        outside=(*nested, *hollow, *removed, *left_out, *outside),
        untracked=tuple(restored[:SHOWN_NAMES]),
        changed=bool(changes),
        undone=undone,
        kept=await _find_kept(context, before, [report.path for report in undone[:SHOWN]]),
        reported=tuple(reported),
    )


async def _find_kept(context: RunContext, before: str, paths: Sequence[str]) -> str:
    """Return the ref with what was undone: the user may have written it while the agent worked; "" if nothing was."""
    after = await snapshot.find(context.git, f"{before}-after") if before and paths else None
    if after is None:
        return ""
    names = set(await context.git.names("ls-tree", "-r", "-z", "--name-only", "--full-tree", after.commit))
    return after.ref if names.intersection(paths) else ""


def _record_name(context: RunContext, path: Path) -> str:
    return os.path.relpath(path, context.progress_folder)


async def _outside(context: RunContext, found: LostFiles | None, before: str, *, with_ignored: bool) -> list[str]:
    """Return the files of no commit that were changed during an iteration: the user's untracked and ignored ones."""
    untracked = list(found.changed) if found is not None else []
    if with_ignored and found is not None:
        untracked += [report.path for report in found.repositories]
    first = await snapshot.find(context.git, before) if before and with_ignored else None
    if first is None:
        return untracked
    since = float(await context.git.text("log", "-1", "--format=%ct", first.commit))
    return [*untracked, *await changed_ignored_files(context, since)]


class _Nested(Struct, frozen=True):
    """The nested repositories that a tree has and the start tree has not."""

    start: tuple[str, tuple[str, ...]]
    """The start tree, and the files that are left out."""
    tree: str
    names: list[str]


async def _nested(
    context: RunContext, start: Baseline, last: str | None, changes: Sequence[Change], tree: str
) -> list[str]:
    """Return the nested repositories with work of this run, also of earlier tasks: no commit contains their files.

    `changes` are those since `last`, the last commit of the run. If its tree is known, and none of them is a nested
    repository, the names are those of that tree.
    """
    key, known = (start.work, start.untracked), context.git.nested
    is_known = isinstance(known, _Nested) and known.start == key and not any(one.is_repository for one in changes)
    if last is not None and is_known and known.tree == await context.git.tree_of(last):
        names = known.names
    else:
        since = changes if last is None else await changes_since(context, start.work, tree, leave=start.untracked)
        names = await nested_changes(context, start.work, since)
    context.git.nested = _Nested(key, tree, names)
    return [name for name in names if has_files(context.folder / name)]


def _is_removed_from_git(context: RunContext, change: Change) -> bool:
    return change.is_gone and _is_left(context, change.path) and not (context.folder / change.path).is_dir()


async def _versions(context: RunContext, start: Baseline, last: str | None, before: str) -> dict[str, ExpectedFile]:
    """Return the expected state of every protected file.

    That is the state at the start of the run, or in the last commit where a task may edit the file.
    """
    versions = {path: ExpectedFile(entry) for path, entry in start.kept.items()}
    allowed = [pattern for task in context.plan.tasks for pattern in task.may_edit]
    edited = [
        path
        for path in start.protected.paths
        if any(matches(pattern, path) for pattern in allowed)
        # The user's version is newer than the last commit.
        if start.adopted.get(path) != (last or context.base)
    ]
    if last is not None and edited:
        for path in await _listed(context, start.work, edited):
            versions.pop(path, None)  # deleted by a task that may edit it, unless the commit has it
        versions |= await _committed(context, last, edited)
    if context.settings.tick:
        versions |= await _ticked(context, start, before)
    return versions


async def _committed(context: RunContext, commit: str, paths: Sequence[str]) -> dict[str, ExpectedFile]:
    """Return these files as they are in a commit, with the bytes that a checkout would write."""
    files = {}
    for path, (mode, blob) in (await _listed(context, commit, paths)).items():
        _, text = await context.git.run("cat-file", "--filters", f"{commit}:{path}")
        data = text.encode("utf-8", "surrogateescape")
        entry = Entry(mode, blob_id(data, like=blob))
        if entry.object != blob:  # converted, unless the object was replaced
            await read_blob(context.git, blob)
        files[path] = ExpectedFile(entry, data)
    return files


async def _listed(context: RunContext, tree: str, paths: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return those of these files that are in a tree, with their modes and object ids."""
    files = {}
    for line in await context.git.names("ls-tree", "-z", "--full-tree", tree, "--", *paths):
        facts, _, path = line.partition("\t")
        mode, kind, blob = facts.split()
        if kind == "blob":
            files[path] = mode, blob
    return files


async def _ticked(context: RunContext, start: Baseline, before: str) -> dict[str, ExpectedFile]:
    """Return the plan as it was before the iteration: Bridle itself ticks boxes in it."""
    plan = next((path for path, why in start.protected.files.items() if why == baseline.THE_PLAN), None)
    taken = await snapshot.find(context.git, before) if before and plan is not None else None
    if plan is None or taken is None:
        return {}
    code, text = await context.git.run("cat-file", "blob", f"{taken.commit}:{plan}", accepts=(0, 128))
    if code != 0:
        return {}
    data = text.encode("utf-8", "surrogateescape")
    mode = start.kept[plan].mode if plan in start.kept else file_states.FILE
    return {plan: ExpectedFile(Entry(mode, file_states.object_id(data, file_states.digest_of(taken.commit))), data)}


async def _conftests(context: RunContext, start: Baseline) -> list[str]:
    """Return the conftest.py files that exist now in tested folders."""
    folders = start.protected.conftest_folders
    if not folders:
        return []
    arguments = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ":(top,glob)**/conftest.py")
    names = dict.fromkeys(await context.git.names(*arguments))
    return [name for name in names if any(not folder or name.startswith(f"{folder}/") for folder in folders)]


def _noted(context: RunContext, args: ProtectArgs, wanted: Sequence[Repair]) -> tuple[FileReport, ...]:
    """Write down what is about to be undone, and return what all attempts of this effect have undone."""
    key = f"{context.recorded_folder}\0{args.task}\0{args.iteration}".encode("utf-8", "surrogateescape")
    path = context.run_folder / UNDONE_FOLDER / f"{hashlib.sha256(key).hexdigest()[:32]}.json"
    known = disk.read_json(path)
    noted: dict[str, str] = dict(known) if isinstance(known, dict) else {}
    new = {repair.path: repair.what for repair in wanted if repair.path not in noted}
    if new:
        disk.make_private_folder(path.parent)
        disk.write_json_atomic(path, noted | new)
    return tuple(FileReport(path=path, what=what) for path, what in (noted | new).items())


def _is_left(context: RunContext, path: str) -> bool:
    return os.path.lexists(context.folder / path)


async def _submodules(context: RunContext) -> list[FileReport]:
    """Report submodules with uncommitted changes."""
    return [
        FileReport(name, "files of this submodule were changed: checks see that, but no commit contains it")
        for name in await dirty_submodules(context)
    ]


def _report_left_out(names: Sequence[str]) -> list[FileReport]:
    """Report files that git cannot add: unreadable, not convertible, or in a repository without a commit."""
    what = "git cannot add it: checks see it, but the commit does not contain it"
    more = [FileReport(".", f"git cannot add {len(names) - SHOWN} more files")] if len(names) > SHOWN else []
    return [*(FileReport(name, what) for name in names[:SHOWN]), *more]


def _report_new_settings(context: RunContext, start: Baseline, changes: Sequence[Change]) -> list[FileReport]:
    """Report new settings of a program that a check runs, where it had none."""
    new = {change.path for change in changes if change.is_new}
    listed = added_files(context.folder, start.protected.reviewed) if new else ()
    return [FileReport(path, f"it was added, and {why}") for path, why in listed if path in new]


async def _tests(context: RunContext, changes: Sequence[Change]) -> list[FileReport]:
    """Report tests that were deleted, skipped, emptied or weakened in the changed files."""
    found = [change for change in changes if may_hold_tests(change.path)]
    found.sort(key=lambda change: change.is_new)  # those can only hold tests that were moved
    chosen = found[:TEST_FILES]
    texts = await texts_of(context, {blob for change in chosen for blob in (change.before, change.after)})
    before = {change.path: texts[change.before] for change in chosen if change.before in texts}
    after = {change.path: texts[change.after] for change in chosen if change.after in texts}
    more = sum(not change.is_new for change in found[TEST_FILES:])
    unread = [FileReport(".", f"{more} more files with tests were changed, and not compared")] if more else []
    return [*find_weakened(before, after), *unread]


def _report_hollow(names: Sequence[str]) -> list[FileReport]:
    what = "this submodule is not checked out, and files were written there: checks see them, but no commit has them"
    return [FileReport(name, what) for name in names]


async def _others(context: RunContext, changes: Sequence[Change], nested: Sequence[str]) -> list[FileReport]:
    """Report files that checks see but the commit does not contain."""
    what = "it is a nested git repository: checks see its files, but the commit does not contain them"
    reports = [FileReport(name, what) for name in nested]
    reports += [
        FileReport(
            change.path, "it was removed from git but not deleted: checks see it, but the commit does not contain it"
        )
        for change in changes
        if _is_removed_from_git(context, change)
    ]
    reports += await _submodules(context)
    ignore_files = [change for change in changes if Path(change.path).name == ".gitignore" and not change.is_gone]
    if ignore_files:
        old = await texts_of(context, {change.before for change in ignore_files})
        reports += await newly_ignored_files(
            context, {change.path: old.get(change.before, "") for change in ignore_files}
        )
    return reports
