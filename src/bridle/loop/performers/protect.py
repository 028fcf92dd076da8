"""The performer of `bridle.protect`: undoes what an agent may not change, and tells what a person should know."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bridle.ground import disk
from bridle.loop.checks.fixed_tree import work_tree
from bridle.loop.performers.branch import last_of_run
from bridle.loop.protection import baseline, file_states, untracked_files
from bridle.loop.protection.baseline import Baseline
from bridle.loop.protection.file_states import Entry
from bridle.loop.protection.newly_ignored import hidden_files
from bridle.loop.protection.repairs import ExpectedFile, Repair, apply, repairs
from bridle.loop.protection.reports import Report
from bridle.loop.protection.suites.read_suite import may_hold_tests
from bridle.loop.protection.tree_changes import Change, changes_since, texts_of
from bridle.loop.protection.weakened_tests import weakened
from bridle.loop.text.path_patterns import matches
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot

UNDONE_FOLDER = "bridle-undone"
# Files that are read to see what became of tests; an agent that changes more has left no test as it was.
TEST_FILES = 500
REPOSITORY = "160000"
# A line of `git status` about a submodule with changed (M) or new (U) files in it.
_DIRTY_SUBMODULE = re.compile(r"1 .. S.(?:M.|.U) ")


async def protect(args: Mapping[str, Any], bench: RunContext) -> dict[str, Any]:
    """Put back every protected part that was changed; tell what became of tests.

    Done again after a crash, it gives the same answer: what was undone is written down before it is undone.
    """
    start = baseline.read(bench, digest=args.get("origin"))
    may_edit = [str(pattern) for pattern in args.get("may_edit") or ()]
    last = args.get("tip") or await last_of_run(bench.git, bench)
    last = None if last == bench.base else last
    versions = await _versions(bench, start, last, str(args.get("snapshot") or ""))
    conftests = await _conftests(bench, start)
    wanted = await repairs(bench, start, versions, may_edit, conftests)
    found = await untracked_files.lost(bench, start.untracked, str(args.get("snapshot") or ""), may_edit)
    mine = [Repair(name, untracked_files.DELETED, None) for name in found.names()] if found is not None else []
    undone = _noted(bench, args, [*wanted, *mine])
    apply(bench, wanted)
    missing = await untracked_files.put_back(bench, found) if found is not None else []
    tree = await work_tree(bench)
    changes = await changes_since(bench, last or start.work, tree, leave=start.untracked)
    taken_out = [one.path for one in changes if one.is_gone and one.path in versions and _is_left(bench, one.path)]
    taken_out = [path for path in taken_out if not any(matches(pattern, path) for pattern in may_edit)]
    if taken_out:
        await bench.git.run("add", "--force", "--", *(f":(literal,top){path}" for path in taken_out))
        words = "it was taken out of git and hidden from it, and it is protected"
        undone = _noted(bench, args, [Repair(path, words, None) for path in taken_out])
        tree = await work_tree(bench)
        changes = await changes_since(bench, last or start.work, tree, leave=start.untracked)
    reported = [*await _tests(bench, changes), *await _others(bench, changes)]
    reported += [*missing, *(found.reports() if found is not None else ())]
    return {
        "tree": tree,
        "changed": bool(changes),
        "undone": undone,
        "reported": [asdict(report) for report in reported],
    }


async def _versions(bench: RunContext, start: Baseline, last: str | None, before: str) -> dict[str, ExpectedFile]:
    """Every protected file as it must be: as the run began, or, where a task may edit it, as the last commit has it."""
    versions = {path: ExpectedFile(entry) for path, entry in start.kept.items()}
    allowed = [pattern for task in bench.plan.tasks for pattern in task.may_edit]
    edited = [path for path in start.protected.paths if any(matches(pattern, path) for pattern in allowed)]
    if last is not None and edited:
        for path in await _listed(bench, start.work, edited):
            versions.pop(path, None)  # deleted by a task that might, unless the commit has it
        versions |= await _committed(bench, last, edited)
    if bench.settings.tick:
        versions |= await _ticked(bench, start, before)
    return versions


async def _committed(bench: RunContext, commit: str, paths: Sequence[str]) -> dict[str, ExpectedFile]:
    """These files as a commit has them, with the bytes that a checkout would write."""
    found = {}
    for path, mode in (await _listed(bench, commit, paths)).items():
        _, text = await bench.git.run("cat-file", "--filters", f"{commit}:{path}")
        data = text.encode("utf-8", "surrogateescape")
        found[path] = ExpectedFile(Entry(mode, file_states.object_id(data, file_states.digest_of(commit))), data)
    return found


async def _listed(bench: RunContext, tree: str, paths: Sequence[str]) -> dict[str, str]:
    """Those of these files that are in a tree, and their modes."""
    found = {}
    for line in await bench.git.names("ls-tree", "-z", "--full-tree", tree, "--", *paths):
        facts, _, path = line.partition("\t")
        mode, kind, _ = facts.split()
        if kind == "blob":
            found[path] = mode
    return found


async def _ticked(bench: RunContext, start: Baseline, before: str) -> dict[str, ExpectedFile]:
    """The plan as it was before the iteration: Bridle itself ticks boxes in it."""
    plan = next((path for path, why in start.protected.files.items() if why == baseline.THE_PLAN), None)
    taken = await snapshot.find(bench.git, before) if before and plan is not None else None
    if plan is None or taken is None:
        return {}
    code, text = await bench.git.run("cat-file", "blob", f"{taken.commit}:{plan}", accepts=(0, 128))
    if code != 0:
        return {}
    data = text.encode("utf-8", "surrogateescape")
    mode = start.kept[plan].mode if plan in start.kept else file_states.FILE
    return {plan: ExpectedFile(Entry(mode, file_states.object_id(data, file_states.digest_of(taken.commit))), data)}


async def _conftests(bench: RunContext, start: Baseline) -> list[str]:
    """The files of that name that are there now, in folders that are tested."""
    folders = start.protected.conftest_folders
    if not folders:
        return []
    words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ":(top,glob)**/conftest.py")
    names = dict.fromkeys(await bench.git.names(*words))
    return [name for name in names if any(not folder or name.startswith(f"{folder}/") for folder in folders)]


def _noted(bench: RunContext, args: Mapping[str, Any], wanted: Sequence[Repair]) -> list[dict[str, str]]:
    """What this effect undoes, in all its attempts, written down before it is done."""
    key = f"{bench.folder}\0{args.get('task')}\0{args.get('iteration')}".encode("utf-8", "surrogateescape")
    path = bench.run_folder / UNDONE_FOLDER / f"{hashlib.sha256(key).hexdigest()[:32]}.json"
    known = disk.read_json(path)
    noted: dict[str, str] = dict(known) if isinstance(known, dict) else {}
    new = {repair.path: repair.what for repair in wanted if repair.path not in noted}
    if new:
        disk.make_private_folder(path.parent)
        disk.write_json_atomic(path, noted | new)
    return [{"path": name, "what": what} for name, what in (noted | new).items()]


def _is_left(bench: RunContext, path: str) -> bool:
    return os.path.lexists(bench.folder / path)


async def _submodules(bench: RunContext) -> list[Report]:
    """Repositories within, as the commit names them, whose files are not those of any commit."""
    if not os.path.lexists(bench.folder / ".gitmodules"):
        return []
    words = ("status", "--porcelain=v2", "-z", "--untracked-files=no", "--ignore-submodules=none")
    dirty = [line.split(" ", 8)[8] for line in await bench.git.names(*words) if _DIRTY_SUBMODULE.match(line)]
    return [
        Report(name, "files of this submodule were changed: checks see that, and no commit holds it") for name in dirty
    ]


async def _tests(bench: RunContext, changes: Sequence[Change]) -> list[Report]:
    """What became of the tests in the files that were changed."""
    chosen = [one for one in changes if may_hold_tests(one.path)][:TEST_FILES]
    texts = await texts_of(bench, {one for change in chosen for one in (change.before, change.after)})
    before = {one.path: texts[one.before] for one in chosen if one.before in texts}
    after = {one.path: texts[one.after] for one in chosen if one.after in texts}
    return weakened(before, after)


async def _others(bench: RunContext, changes: Sequence[Change]) -> list[Report]:
    """What a check sees and a commit does not hold."""
    reports = [
        Report(one.path, "it is a repository of its own: checks see its files, and the commit does not hold them")
        for one in changes
        if one.mode == REPOSITORY and one.is_new
    ]
    reports += [
        Report(one.path, "it is still there, but was taken out of git: checks see it, and the commit does not hold it")
        for one in changes
        if one.is_gone and _is_left(bench, one.path) and not (bench.folder / one.path).is_dir()
    ]
    reports += await _submodules(bench)
    rules = [one for one in changes if Path(one.path).name == ".gitignore" and not one.is_gone]
    if rules:
        old = await texts_of(bench, {one.before for one in rules})
        reports += await hidden_files(bench, {one.path: old.get(one.before, "") for one in rules})
    return reports
