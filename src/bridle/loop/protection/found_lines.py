"""What the user changed while no driver ran, in lines for the user."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from bridle.loop.protection import baseline
from bridle.loop.protection.baseline import Baseline
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot

# Names in one line.
SHOWN = 10
# Git compares the content of at most about the square of this many pairs of files.
_RENAME_LIMIT = 100

_COMMITTED = "this is checked and committed with the next task"
_LEFT_ALONE = "left alone, and in no commit, unless you `git add`"


class FoundFiles(Struct, frozen=True):
    """Files that the user changed between two trees."""

    before: str
    now: str
    tip: str
    """The newest commit of the run's branch."""
    paths: Sequence[str]
    """All of these files, committed or not."""
    committed: Sequence[str]
    """The files in commits of the user."""
    new_untracked: Sequence[str]
    """The files that git does not track."""
    removed_from_git: Sequence[str]
    """The untracked files that git tracked before."""


class _Move(Struct, frozen=True):
    """A file that the user renamed or copied."""

    old: str
    new: str
    is_copy: bool


async def describe_files(
    context: RunContext, found: FoundFiles, adopted: Baseline, *, has_new_plan: bool = False
) -> list[str]:
    """Return what the user did to files, a line each. `has_new_plan`: the run takes the plan as it is now."""
    tip_tree = await context.git.tree_of(found.tip)
    changed = set(await snapshot.changes(context.git, tip_tree, found.now)) & set(found.paths)
    moves = await _find_moves(context, found, changed)
    moved = {name for move in moves for name in ((move.new,) if move.is_copy else (move.old, move.new))}
    local = [path for path in found.paths if path in adopted.local]
    known_untracked = set(adopted.untracked) - set(found.new_untracked) - moved - set(local)
    edited = sorted(changed - set(found.new_untracked) - moved - set(local) - known_untracked)
    rewritten = sorted(changed & known_untracked)
    as_committed = set(found.paths) - changed - moved - set(found.committed) - set(found.removed_from_git)
    reverted = sorted(as_committed.intersection(await snapshot.changes(context.git, found.before, found.now)))
    added = [path for path in found.new_untracked if path not in moved and path not in found.removed_from_git]
    lines = [_describe_move(move, found.new_untracked) for move in moves]
    if edited:
        lines.append(f"you changed {_names(edited)}: {_COMMITTED}")
    if rewritten:
        lines.append(f"you changed {_names(rewritten)}: {_LEFT_ALONE} {'them' if len(rewritten) > 1 else 'it'}")
    if reverted:
        lines.append(f"you reverted, removed or stashed {_names(reverted)}: as in the last commit")
    if local:
        steering = [name for name in local if adopted.protected.files.get(name) == baseline.THE_PLAN]
        marked = [name for name in local if name not in steering]
        lines += [f"you changed {name}: left alone, in no commit" for name in steering]
        if marked:
            names = _names(marked)
            lines.append(f"you changed {names}, marked skip-worktree or assume-unchanged: left alone, in no commit")
    if added:
        lines.append(f"you added {_names(added)}: {_LEFT_ALONE} them")
    if found.removed_from_git:
        names = _names(found.removed_from_git)
        lines.append(f"you removed {names} from git: so does the commit of the next task, which leaves the file alone")
    return [*lines, *_describe_protected(found.paths, adopted, has_new_plan=has_new_plan)]


def describe_added(names: Sequence[str]) -> list[str]:
    """Return a line about untracked files of the user that only an agent has committed."""
    if not names:
        return []
    them = "them" if len(names) > 1 else "it"
    left = f"the next commit removes {them} from git, not from the folder"
    return [f"an agent had committed {_names(names)}, which you left untracked: {left}"]


async def _find_moves(context: RunContext, found: FoundFiles, changed: Collection[str]) -> list[_Move]:
    words = ("diff", "--name-status", "-z", "--find-renames", "--find-copies-harder", f"-l{_RENAME_LIMIT}")
    if found.before == found.now or not changed:
        return []
    return [
        move
        for move in _moves(iter(await context.git.names(*words, found.before, found.now)))
        if move.new in found.paths and (move.is_copy or move.old in found.paths)
    ]


def _moves(fields: Iterator[str]) -> Iterator[_Move]:
    """Yield the renames and copies in the output of `git diff --name-status -z`."""
    for status in fields:
        old = next(fields)
        if status[0] in "RC":
            yield _Move(old, next(fields), is_copy=status[0] == "C")


def _describe_move(move: _Move, untracked: Collection[str]) -> str:
    verb = "copied" if move.is_copy else "renamed"
    return f"you {verb} {move.old} to {move.new}: {f'{_LEFT_ALONE} it' if move.new in untracked else _COMMITTED}"


def _describe_protected(paths: Sequence[str], adopted: Baseline, *, has_new_plan: bool) -> Iterator[str]:
    protected = adopted.protected
    kept = [path for path in protected.paths if path in paths]
    if kept:
        yield f"protected as they are now: {_names(kept)}"
    if not has_new_plan and any(protected.files.get(path) == baseline.THE_PLAN for path in kept):
        yield "the run keeps the plan that it has, unless you resume it with --replan"


def _names(paths: Sequence[str]) -> str:
    more = len(paths) - SHOWN
    return ", ".join(paths[:SHOWN]) + (f" and {more} more" if more > 0 else "")
