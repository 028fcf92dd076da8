"""Refs after an agent or a check: what it may not move is restored, everything else is reported.

Branches and tags belong to the user, who may use them during the run: deleted ones are restored, and so is the branch
that the run started from, unless it is checked out. A moved tag is restored, and the branch of another run that is not
working, if it does not contain its earlier commit. Moved and new branches, new tags and notes stay. A ref that names
another one is never kept: what is written to it moves that one. Nor is a new ref that git would find under the name of
a known one, or one of any other kind (`refs/main`, `refs/remotes`, `refs/replace`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from bridle.ground.files import files_below
from bridle.loop.effect_results import FileReport
from bridle.loop.protection.git_files import reflogs, watched_refs
from bridle.loop.protection.git_files.git_metadata import HEADS, GitMetadata, read_file, shorten
from bridle.workspace.commit import is_ancestor
from bridle.workspace.git import Git

RUNS = f"{HEADS}bridle/"
_WORKTREES = "worktrees"
_TAGS = "refs/tags/"
# Kinds of which new ones stay.
_OF_THE_USER = (HEADS, _TAGS, "refs/notes/", reflogs.STASH)
_SYMBOLIC = "ref: "


async def restore_refs(
    git: Git,
    before: GitMetadata,
    now: GitMetadata,
    came_from: str | None,
    *,
    own: str | None = None,
    is_resting: Callable[[str], bool] = lambda _branch: False,
) -> list[FileReport]:
    """Restore refs where allowed; report what changed, what failed first and new ones last.

    `own`: the run's branch, which may move. `is_resting`: whether a branch is of another run that does not work now.
    """
    changed = [name for name in sorted({*before.refs, *now.refs}) if before.refs.get(name) != now.refs.get(name)]
    changed = [name for name in changed if name != f"{HEADS}{own}" and not _is_of_working_run(name, is_resting)]
    changed.sort(key=lambda name: name not in before.refs)
    known = watched_refs.short_names(before.refs)
    wanted = [name for name in changed if _is_restored(before, now, name, came_from)]
    wanted += [name for name in changed if name not in before.refs and watched_refs.hides_another(name, known)]
    for name in changed:
        if (
            name.startswith(RUNS)
            and is_resting(name.removeprefix(HEADS))
            and await _is_rewritten(git, before, now, name)
        ):
            wanted.append(name)
    failed = await _write(git, before, list(dict.fromkeys(wanted)))
    changed.sort(key=lambda name: name not in failed)
    reports = [
        _describe(before, now, name, is_restored=name not in failed if name in wanted else None) for name in changed
    ]
    return [*shorten(reports, ".git"), *shorten(_remove_shadows(before, now), ".git")]


def _is_of_working_run(name: str, is_resting: Callable[[str], bool]) -> bool:
    return name.startswith(RUNS) and not is_resting(name.removeprefix(HEADS))


async def _is_rewritten(git: Git, before: GitMetadata, now: GitMetadata, name: str) -> bool:
    was, is_now = before.refs.get(name), now.refs.get(name)
    return was is not None and is_now is not None and not await is_ancestor(git, was, is_now)


def _remove_shadows(before: GitMetadata, now: GitMetadata) -> list[FileReport]:
    """Remove new files of a git folder that git takes for a branch or a tag."""
    names = sorted(now.shadows - before.shadows) if before.folder is not None else []
    for name in names:
        assert before.folder is not None  # noqa: S101  # then there are none
        files_below.remove(before.folder, name)
    what = "it was added, and git took it for the branch or tag of that name; it was removed"
    return [FileReport(f".git/{name}", what) for name in names]


def _is_restored(before: GitMetadata, now: GitMetadata, name: str, came_from: str | None) -> bool:
    was, is_now = before.refs.get(name), now.refs.get(name)
    if is_now is not None and is_now.startswith(_SYMBOLIC):
        return True
    if was is None or not name.startswith(_OF_THE_USER):
        return not name.startswith(_OF_THE_USER)
    is_dropped = name == reflogs.STASH and reflogs.has_entry(before.logs, name, is_now or "")
    is_ours = is_now is None or name == f"{HEADS}{came_from}" or is_dropped or name.startswith(_TAGS)
    return is_ours and (is_now is None or not _is_checked_out(before.folder, name))


async def _write(git: Git, before: GitMetadata, names: Sequence[str]) -> set[str]:
    """Restore refs by one git, or each by its own where that fails; return those that could not be restored."""
    plain = [name for name in names if not before.refs.get(name, "").startswith(_SYMBOLIC)]
    plain.sort(key=lambda name: name in before.refs)  # a new one may be in the way of another
    words = ("update-ref", "--no-deref", "-m", reflogs.RESTORED)
    lines = "".join(
        f"update {name}\0{before.refs[name]}\0\0" if name in before.refs else f"delete {name}\0\0" for name in plain
    )
    stdin = lines.encode("utf-8", "surrogateescape")
    failed: set[str] = set()
    if plain and (await git.run(*words, "--stdin", "-z", stdin=stdin, accepts=(0, 1, 128)))[0] != 0:
        for name in plain:
            change = (name, before.refs[name]) if name in before.refs else ("-d", name)
            if (await git.run(*words, *change, accepts=(0, 1, 128)))[0] != 0:
                failed.add(name)
    for name in names:
        if name not in plain:
            target = before.refs[name].removeprefix(_SYMBOLIC)
            code, _ = await git.run("symbolic-ref", "-m", reflogs.RESTORED, name, target, accepts=(0, 1, 128))
            failed |= {name} if code != 0 else set()
    return failed


def _describe(before: GitMetadata, now: GitMetadata, name: str, *, is_restored: bool | None) -> FileReport:
    was, is_now = before.refs.get(name), now.refs.get(name)
    short = name.removeprefix(HEADS)
    if was is None and is_restored is None:
        return FileReport(short, f"it was created at {is_now}")
    if was is None:
        return FileReport(
            short, f"it was created at {is_now}; {'it was removed' if is_restored else 'removing it failed'}"
        )
    if is_restored is None:
        return FileReport(short, f"it was moved from {was} to {is_now}")
    outcome = "it was restored" if is_restored else f"restoring it to {was} failed"
    return FileReport(short, f"it was {'deleted' if is_now is None else f'moved to {is_now}'}; {outcome}")


def _is_checked_out(place: Path | None, ref: str) -> bool:
    """Return whether a working copy has the branch checked out."""
    if place is None:
        return False
    heads = ["HEAD", *(f"{_WORKTREES}/{name}/HEAD" for name in files_below.listed(place, _WORKTREES))]
    wanted = (f"ref: {ref}".encode(), ref.encode())  # the second is a link
    return any((file := read_file(place, head)) is not None and file[1].strip() in wanted for head in heads)
