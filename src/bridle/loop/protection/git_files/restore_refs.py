"""Branches and tags after an agent: deleted ones are restored, and so is the branch that the run started from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bridle.ground import files_below
from bridle.loop.effect_results import FileReport
from bridle.loop.protection.git_files import reflogs
from bridle.loop.protection.git_files.git_metadata import HEADS, GitMetadata, read_file, shorten
from bridle.workspace.git import Git

_WORKTREES = "worktrees"


async def restore_refs(git: Git, before: GitMetadata, now: GitMetadata, came_from: str | None) -> list[FileReport]:
    """Restore branches and tags where allowed; report what changed, what failed first and new ones last."""
    changed = [name for name in sorted({*before.refs, *now.refs}) if before.refs.get(name) != now.refs.get(name)]
    changed.sort(key=lambda name: name not in before.refs)
    wanted = [name for name in changed if _is_restored(before, now, name, came_from)]
    failed = await _write(git, before, wanted)
    changed.sort(key=lambda name: name not in failed)
    reports = [
        _describe(before, now, name, is_restored=name not in failed if name in wanted else None) for name in changed
    ]
    return shorten(reports, ".git")


def _is_restored(before: GitMetadata, now: GitMetadata, name: str, came_from: str | None) -> bool:
    was, is_now = before.refs.get(name), now.refs.get(name)
    is_dropped = name == reflogs.STASH and reflogs.has_entry(before.logs, name, is_now or "")
    is_ours = is_now is None or name == f"{HEADS}{came_from}" or is_dropped
    return was is not None and is_ours and (is_now is None or not _is_checked_out(before.folder, name))


async def _write(git: Git, before: GitMetadata, names: Sequence[str]) -> set[str]:
    """Restore refs by one git, or each by its own where that fails; return those that could not be restored."""
    if not names:
        return set()
    lines = "".join(f"update {name}\0{before.refs[name]}\0\0" for name in names)
    words = ("update-ref", "--no-deref", "-m", reflogs.RESTORED)
    stdin = lines.encode("utf-8", "surrogateescape")
    code, _ = await git.run(*words, "--stdin", "-z", stdin=stdin, accepts=(0, 1, 128))
    if code == 0:
        return set()
    codes = [(await git.run(*words, name, before.refs[name], accepts=(0, 1, 128)))[0] for name in names]
    return {name for name, code in zip(names, codes, strict=True) if code != 0}


def _describe(before: GitMetadata, now: GitMetadata, name: str, *, is_restored: bool | None) -> FileReport:
    was, is_now = before.refs.get(name), now.refs.get(name)
    short = name.removeprefix(HEADS)
    if was is None:
        return FileReport(short, f"it was created at {is_now}")
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
