"""Where a run can start: the checks before anything is written, and its creation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bridle.engine.drive.driver_lock import find_driver
from bridle.engine.drive.wait_for_driver import driver_ended_at
from bridle.errors import Error, UsageError
from bridle.ground import clock, ids
from bridle.journal.format import layout
from bridle.journal.stores.create import NewRun, create_run
from bridle.journal.stores.file_store import FileStore
from bridle.loop import effects
from bridle.loop.control.pauses import pending_pause
from bridle.loop.plan.model import Plan
from bridle.loop.run_inputs import PROCESS_ID, RunInputs, RunPlace, is_loop_run, read_place
from bridle.loop.settings.bridle_toml import FILE_NAME
from bridle.loop.settings.model import Settings
from bridle.loop.undo import undo_entries
from bridle.loop.working_copy.recorded_untracked import untracked_in
from bridle.loop.working_copy.refs import run_branch
from bridle.loop.working_copy.run_worktrees import worktree_folder
from bridle.workspace.git import Git
from bridle.workspace.git_folder import damaged_files
from bridle.workspace.inert_git import inert_git
from bridle.workspace.repair import git_leftovers

# An executable check of the repository itself, which runs with the guard.
OWN_CHECK = ".ralph/check"
# How `git status` marks files in conflict.
_UNMERGED = frozenset({"DD", "AU", "UD", "UA", "DU", "AA", "UU"})


class RunRequest(Struct, frozen=True):
    """A run that can be created."""

    repository: Path
    plan: Plan
    settings: Settings
    base: str
    """The commit that it starts from."""
    came_from: str | None
    """The branch that is checked out."""
    is_draft: bool = False
    """Whether the pull request of the run is to be a draft."""


async def check_start(
    cwd: Path, plan: Plan, settings: Settings, environment: Mapping[str, str], *, is_dry: bool = False
) -> RunRequest:
    """Check whether a run can start here, and raise UsageError where it cannot. Nothing is written.

    With `is_dry` no filter of the repository runs either.
    """
    top = await Git(cwd, environment).top()
    damaged_files.refuse(top, then="the same command again")
    git = await inert_git(top, environment) if is_dry else Git(top, environment)
    for operation in git_leftovers.unfinished_operations(await git.git_path(".")):
        raise git_leftovers.refusal(operation, top, " first.")  # a checkout of another branch would break it
    base = await git.head()
    if base is None:
        raise UsageError(f"{top} has no commit yet", remedy="Make one first: git add -A && git commit -m start")
    # A dry run starts no git in submodules, which runs programs that the configuration there names.
    ignored = ("--ignore-submodules=dirty",) if is_dry else ()
    changed = await git.names("status", "--porcelain", "-z", "--untracked-files=no", "--no-renames", *ignored)
    if unmerged := [name[3:] for name in changed if name[:2] in _UNMERGED]:
        raise git_leftovers.conflict_refusal(unmerged, top, " first.")
    changed = [name for name in changed if not _steers(top, name[3:], plan)]
    here = _place_of_branch(top, await git.branch())
    _refuse_uncommitted(settings, changed)
    if changed and not settings.allow_dirty:
        raise _dirty_refusal(top, changed, here)
    if here is not None and not settings.uses_worktrees and not is_dry:
        await _refuse_unfinished(git, here[0], plan)
    own_check = top / OWN_CHECK
    if own_check.is_file() and os.access(own_check, os.X_OK):
        plan = replace(plan, guard=(*plan.guard, OWN_CHECK))
    # Not on top of the branch of an earlier run that has no commit.
    is_empty = here is not None and here[1].base == base and here[1].came_from is not None
    return RunRequest(top, plan, settings, base, here[1].came_from if here and is_empty else await git.branch())


def _refuse_uncommitted(settings: Settings, changed: list[str]) -> None:
    """Raise UsageError where work without commits has no place in the user's working copy."""
    if settings.commit:
        return
    if settings.uses_worktrees:
        raise UsageError(
            "--no-commit leaves the work in your working copy; with --parallel or --worktree the run works elsewhere",
            remedy="Leave one of them out. To take the work of a branch without its commits: git merge --squash",
        )
    if changed and settings.allow_dirty:
        raise UsageError(
            "with --no-commit and --allow-dirty your uncommitted changes and the work of the run would be mixed",
            remedy="Commit or stash your changes first, or leave out one of the two.",
        )


def _steers(top: Path, name: str, plan: Plan) -> bool:
    """Return whether a file is the plan or has settings of Bridle: no commit of a task contains changes of it."""
    is_plan = plan.path is not None and os.path.realpath(top / name) == os.path.realpath(plan.path)
    return is_plan or Path(name).name == FILE_NAME


def _place_of_branch(top: Path, branch: str | None) -> tuple[str, RunPlace] | None:
    """Return the run whose branch this is, and where it works; None for another branch."""
    for run in (top / layout.RUNS_FOLDER).glob("[!.]*") if branch is not None else ():
        if f"bridle/{run.name.lower()}" == branch:
            with suppress(Error):
                return run.name, read_place(FileStore(run))
    return None


def _dirty_refusal(top: Path, changed: list[str], here: tuple[str, RunPlace] | None) -> UsageError:
    names = ", ".join(name[3:] for name in changed[:5])
    remedy = "Commit or stash them, or use --allow-dirty, which puts them aside while the run works."
    if here is not None:
        remedy = f"They may be unfinished work of run {here[0]}: bridle resume {here[0]}, or bridle undo {here[0]}."
    return UsageError(f"{top} has uncommitted changes: {names}", remedy=remedy)


async def _refuse_unfinished(git: Git, run: str, plan: Plan) -> None:
    """Raise UsageError where new files here may be unfinished work of a run: the checks would pass on them."""
    folder = git.folder / layout.RUNS_FOLDER / run
    if not _is_unfinished(folder):
        return
    new = await _new_files(git, folder, plan)
    if new:
        names = ", ".join(new[:5])
        raise UsageError(
            f"run {run} is not finished, and its branch is checked out with new files, which may be its work: {names}",
            remedy=f"Continue it: bridle resume {run}. Or remove its work, which a ref keeps: bridle undo {run}",
        )


async def find_leftovers(request: RunRequest, environment: Mapping[str, str]) -> str | None:
    """Return which new files may be work of the last run, if that is not finished and its branch was left manually.

    Files that were changed after its driver had ended are the user's.
    """
    runs = sorted((request.repository / layout.RUNS_FOLDER).glob("[!.]*"), key=lambda run: run.name)
    if not runs or request.settings.uses_worktrees or not _left_files_here(runs[-1]):
        return None
    git = await inert_git(request.repository, environment)
    ended_at = await driver_ended_at(runs[-1])
    new = [
        name
        for name in await _new_files(git, runs[-1], request.plan)
        if ended_at is None or _changed_at(request.repository / name) <= ended_at
    ]
    if not new:
        return None
    run = runs[-1].name
    names = ", ".join(new[:5]) + (f" and {len(new) - 5} more" if len(new) > 5 else "")
    return (
        f"run {run} is not finished, and these new files may be its work, on which checks of this run could pass: "
        f"{names}. To continue it: bridle resume {run}. To remove its work, which a ref keeps: bridle undo {run}"
    )


def _left_files_here(folder: Path) -> bool:
    """Return whether a run is not finished, was not undone, and worked in the user's working copy."""
    with suppress(Error):
        store = FileStore(folder)
        is_ours = is_loop_run(store) and not read_place(store).worktrees
        return is_ours and not undo_entries.read(store.state().notes).is_done and _is_unfinished(folder)
    return False


def _is_unfinished(folder: Path) -> bool:
    """Return whether a run has not ended and is not running: a running one is refused by its lock."""
    store = FileStore(folder)
    paused = pending_pause(store)
    has_ended = store.position().end is not None or (paused is not None and paused.why == effects.WHY_ENDED)
    return not has_ended and find_driver(folder) is None


async def _new_files(git: Git, folder: Path, plan: Plan) -> list[str]:
    """Return the untracked files that were not there when a run began."""
    known = untracked_in(folder)
    untracked = await git.names("ls-files", "--others", "--exclude-standard", "-z")
    return [name for name in untracked if name not in known and not _steers(git.folder, name, plan)]


def _changed_at(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def create(request: RunRequest, runs: Path) -> Path:
    """Create the run with a frozen copy of its plan and settings; return its folder."""
    run_id = ids.new_id()
    inputs = RunInputs(
        run=run_id,
        repository=str(request.repository),
        base=request.base,
        branch=run_branch(run_id),
        came_from=request.came_from,
        plan=request.plan,
        settings=request.settings,
        worktrees=_worktrees(request, run_id),
        is_draft=request.is_draft,
    )
    new = NewRun(
        run_id=run_id,
        process_id=PROCESS_ID,
        entry=None,
        request=request.plan.title,
        has_inputs=True,
        inputs=inputs.as_json(),
    )
    return create_run(runs, new, proof=ids.new_token(), ulid=ids.new_id(), created_at=clock.iso(clock.now()))


def _worktrees(request: RunRequest, run_id: str) -> tuple[str, ...]:
    """Return the run's own worktree and those of its workers; none where it works in the user's copy."""
    if not request.settings.uses_worktrees:
        return ()
    parallel = request.settings.parallel
    workers = range(1, parallel + 1) if parallel > 1 else ()
    folders = [
        worktree_folder(request.repository, run_id),
        *(worktree_folder(request.repository, run_id, n) for n in workers),
    ]
    return tuple(str(folder) for folder in folders)
