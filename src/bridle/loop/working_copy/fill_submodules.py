"""Fill the submodules of a run's worktree from the user's own working copy.

`git worktree add` leaves their folders empty. They are cloned from the folders that the user's submodules have in
`.git/modules`, so nothing is fetched from an address that a commit names, and no credentials are used. A submodule that
the user has not checked out stays empty.

An agent may have written `.gitmodules`: git would take another address from it, and another git folder, if it and
Bridle did not agree on a submodule's name. So a name counts only if the user's working copy has the same one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from bridle.errors import GitError
from bridle.ground.git_folder import git_folder
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.git import Git

_SETTINGS = ".gitmodules"
_LINK = "160000 "
# Submodules in submodules; a repository that names itself would have no end.
_MOST_LEVELS = 8
# Git refuses clones of local paths in submodules by default, since a commit may name any path. These are ours.
_LOCAL = ("-c", "protocol.allow=never", "-c", "protocol.file.allow=always")
_OTHER_NAME = "your working copy has no submodule of the same name there, or its path has links"


async def fill_submodules(context: RunContext) -> None:
    """Check out the recorded commits of all submodules that the user's working copy has."""
    if context.repository is not None and os.path.lexists(context.folder / _SETTINGS):
        for path, reason in await _fill(context, context.repository, context.folder, "", _MOST_LEVELS):
            context.say(f"the submodule {path} of the worktree {context.folder.name} is not filled: {reason}")


async def keep_submodule_commits(context: RunContext, tree: str) -> None:
    """Copy the commits of submodules that a worktree's tree names to the submodules of the user's working copy.

    The submodules of a worktree are removed with it. There, `refs/bridle/RUN/COMMIT` keeps such a commit.
    """
    if context.repository is None or not os.path.lexists(context.folder / _SETTINGS):
        return
    for path, commit in await _links(context.git, "ls-tree", "-r", "-z", "--full-tree", tree):
        theirs, ours = context.repository / path, context.folder / path
        if git_folder(theirs) is None or git_folder(ours) is None or _has_links(context.repository, path):
            continue
        git = Git(theirs, context.environment)
        if await git.object(f"{commit}^{{commit}}") is None:
            ref = f"refs/bridle/{context.run.lower()}/{commit}"
            await git.run(
                *_LOCAL, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(ours), f"{commit}:{ref}"
            )


async def _fill(context: RunContext, source: Path, target: Path, prefix: str, levels: int) -> list[tuple[str, str]]:
    """Fill the submodules of one repository; return those that could not be, each with the reason."""
    git, left = Git(target, context.environment), []
    names, known = await _names(git), await _names(Git(source, context.environment))
    for path, commit in await _links(git, "ls-files", "-z", "--stage"):
        place = git_folder(source / path) if path in names else None
        if place is None:
            continue  # the user has not checked it out either
        if not names[path] or known.get(path) != names[path] or _has_links(source, path) or _has_links(target, path):
            left.append((prefix + path, _OTHER_NAME))
            continue
        try:
            await _update(git, names[path], path, place, commit)
        except GitError as error:
            left.append((prefix + path, str(error)))
            continue
        if levels > 1 and os.path.lexists(target / path / _SETTINGS):
            left += await _fill(context, source / path, target / path, f"{prefix}{path}/", levels - 1)
    return left


async def _update(git: Git, name: str, path: str, place: str, commit: str) -> None:
    inner = Git(git.folder / path, git.environment)
    if git_folder(git.folder / path) is not None and await inner.head() == commit:
        return
    settings = (f"submodule.{name}.url={place}", f"submodule.{name}.active=true")
    options = [word for setting in settings for word in ("-c", setting)]
    await git.run(*_LOCAL, *options, "submodule", "--quiet", "update", "--checkout", "--force", "--", path)


async def _names(git: Git) -> Mapping[str, str]:
    """Return the names of the submodules that `.gitmodules` declares, by their paths; "" if one cannot be used.

    Two names of one path are ambiguous, and git would take a name with "=" for another setting.
    """
    words = ("config", "--file", _SETTINGS, "--no-includes", "-z", "--get-regexp", r"^submodule\..*\.path$")
    code, text = await git.run(*words, accepts=tuple(range(256)))
    entries = [entry.partition("\n")[::2] for entry in text.split("\0")] if code == 0 else []
    names: dict[str, str] = {}
    for key, value in entries:
        path, name = value.rstrip("/"), key[len("submodule.") : -len(".path")]
        names[path] = "" if "=" in name or names.get(path, name) != name else name
    return names


def _has_links(folder: Path, path: str) -> bool:
    """Return whether a path below a folder leads through links."""
    return os.path.realpath(folder / path) != os.path.join(os.path.realpath(folder), path)


async def _links(git: Git, *words: str) -> Sequence[tuple[str, str]]:
    """Return the paths of a listing that are commits of other repositories, each with its commit."""
    lines = [line.partition("\t")[::2] for line in await git.names(*words) if line.startswith(_LINK)]
    return [(path, next(word for word in facts.split()[1:] if len(word) >= 40)) for facts, path in lines]
