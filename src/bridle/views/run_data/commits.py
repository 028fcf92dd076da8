"""The commits of a run with their files, trailers and diffs; git runs no program that the repository names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bridle.errors import Error
from bridle.views.run_data.git_diff import is_binary, parse_counts, parse_diff, parse_names, split_sections
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.events.surrogates import replace_all_surrogates
from bridle.wire.mask import Mask
from bridle.workspace.blocking_git import BlockingGit
from bridle.workspace.inert_git import inert_blocking_git

_SHORT = 10
# No program of the repository, no colours, and the same form whatever the user has configured.
_DIFF = ("--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/")
_FORMAT = "%H%x00%P%x00%at%x00%s%x00%(trailers:only,unfold)"


def commit_documents(
    repository: Path, commits: Sequence[str], tasks: Mapping[str, str], environment: Mapping[str, str], mask: Mask
) -> list[JsonObject]:
    """Return the commits of a run, the oldest first; `tasks` has the task of each. A lost one has only its id."""
    git = open_git(repository, environment)
    return [_commit(git, commit, tasks.get(commit), mask) for commit in commits]


def open_git(repository: Path, environment: Mapping[str, str]) -> BlockingGit | None:
    """Return a git that only reads; None where there is no repository."""
    try:
        return inert_blocking_git(repository, environment)
    except (Error, OSError):
        return None


def _commit(git: BlockingGit | None, commit: str, task: str | None, mask: Mask) -> JsonObject:
    document: JsonObject = {"commit": commit, "short": commit[:_SHORT], "subject": "", "task": task}
    document |= {"author_at": None, "trailers": {}, "files": []}
    try:
        if git is None:
            return document
        text = git.run("log", "-1", f"--format={_FORMAT}", "--end-of-options", commit)[1]
        _, parents, moment, subject, trailers = text.split("\0", 4)
        base = parents.split()[0] if parents else None
        names = parse_names(_diff(git, base, commit, "--raw", "-z"))
        counts = parse_counts(_diff(git, base, commit, "--numstat", "-z"))
        author_at = float(moment)
    except (Error, OSError, ValueError):
        return document
    document |= {
        "subject": subject,
        "author_at": author_at,
        "trailers": dict(line.split(": ", 1) for line in trailers.splitlines() if ": " in line),
        "files": [
            {**name, "added": added, "removed": removed} for name, (added, removed) in zip(names, counts, strict=False)
        ],
    }
    masked: JsonObject = mask.apply_to_json(replace_all_surrogates(document))
    return masked


def commit_diff(repository: Path, commit: str, environment: Mapping[str, str], mask: Mask) -> JsonObject | None:
    """Return the diff of a commit against its first parent; None where git does not have it."""
    git = open_git(repository, environment)
    if git is None:
        return None
    code, parents = git.run("log", "-1", "--format=%P", "--end-of-options", commit, accepts=(0, 128))
    base = parents.split()[0] if parents.split() else None
    return None if code else diff_document(git, base, commit, mask)


def diff_document(git: BlockingGit, base: str | None, other: str, mask: Mask) -> JsonObject:
    """Return the diff between two trees; without a base, all files are new."""
    names = parse_names(_diff(git, base, other, "--raw", "-z"))
    sections = split_sections(_diff(git, base, other, "--patch"), names)
    if any(map(is_binary, sections)):
        forced = split_sections(_text_diff(git, base, other), names)
        # An attribute of the repository can call a text binary, which would hide what an agent has changed in it.
        sections = [
            text if text and "\0" not in text else section for section, text in zip(sections, forced, strict=True)
        ]
    return {"files": replace_all_surrogates(parse_diff(sections, mask.apply_to_json(names), mask))}


def _text_diff(git: BlockingGit, base: str | None, other: str) -> str:
    """Return a diff in which git takes all files for texts; nothing if that is too long."""
    try:
        return _diff(git, base, other, "--patch", "--text")
    except Error:
        return ""


def _diff(git: BlockingGit, base: str | None, other: str, *form: str) -> str:
    words = ("diff-tree", "-r", "--no-commit-id", *_DIFF, *form)
    ends = ("--root", "--end-of-options", other) if base is None else ("--end-of-options", base, other)
    return git.run(*words, *ends)[1]
