"""Add all files of a working copy to an index."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from bridle.errors import GitError
from bridle.ground.threads import in_thread
from bridle.workspace.git import Git
from bridle.workspace.own_output import untracked_output

# Settings under which git compares the files themselves, without the shortcuts that a repository may configure.
NO_SHORTCUTS = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "core.splitIndex=false"),
    *("-c", "index.sparse=false"),
    *("-c", "core.ignoreStat=false"),
    *("-c", "core.checkStat=default"),
    *("-c", "core.trustctime=true"),
    *("-c", "core.safecrlf=false"),
    *("-c", "advice.addEmbeddedRepo=false"),
)

# Git's messages for a file that it cannot convert: they end the command, whatever its flags.
_CANNOT_CONVERT = re.compile(
    r"^fatal: (?:(?:BOM is (?:required|prohibited) in|failed to encode) '(.+?)' |(.+?): clean filter '.*' failed$)",
    re.MULTILINE,
)
# Git hashes a gigabyte in seconds. Larger files do not belong into a commit; they are searched if git takes long.
HUGE_BYTES = 1024**3
SPARSE_BYTES = 100 * 1024**2
SPARSE_FACTOR = 100
PATIENCE_SECONDS = 5.0
# More of these files are not left out but an error.
_UNCONVERTED_LIMIT = 100


async def add_all(git: Git, variables: Mapping[str, str], flags: Sequence[str] = ()) -> str:
    """Add all files of the working copy to an index; return git's lines about what has changed in it.

    What git cannot add keeps its entry, or gets none: nested repositories without a commit, and files that cannot be
    read, such as those of another user, or cannot be converted; and huge files, which git would hash for hours.
    Untracked files with our own output get none.
    """
    own = await untracked_output(git)
    removed = await _remove_entries(git, variables, own)
    left_out = [name for name in git.huge if _is_huge(git.folder / name)]  # git would hash them again at each look
    words = (*flags, *NO_SHORTCUTS, "add", "-A", "--verbose", "--sparse", "--ignore-errors")
    while True:
        excluded = (*own, *left_out)
        paths = [":/", *(f":(exclude,literal){name}" for name in excluded)]
        stdin = b"".join(os.fsencode(path) + b"\0" for path in paths) if excluded else None
        listed = ("--pathspec-from-file=-", "--pathspec-file-nul") if excluded else ()
        try:
            code, output = await _add(git, (*words, *listed), variables, stdin, left_out)
        except _HugeFiles as huge:
            left_out += huge.names
            git.huge = tuple(left_out)
        except GitError as error:
            match = _CANNOT_CONVERT.search(error.message)
            name = match[1] or match[2] if match is not None else None
            if name is None or name in left_out or len(left_out) >= _UNCONVERTED_LIMIT:
                raise
            left_out.append(name)
        else:
            git.left_out = ()
            if code or left_out:
                words = ("ls-files", "-z", "--others", "--modified", "--exclude-standard")
                names = await git.names(*flags, *NO_SHORTCUTS, *words, variables=variables)
                git.left_out = tuple(dict.fromkeys(name.rstrip("/") for name in names if name not in own))
            return output or "\n".join((*git.left_out, *removed))


class _HugeFiles(Exception):
    """Git was ended because it hashed such files."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self.names = names


async def _add(
    git: Git, words: Sequence[str], variables: Mapping[str, str], stdin: bytes | None, left_out: Sequence[str]
) -> tuple[int, str]:
    """Run `git add`. If it takes long, search huge files: where there are some, end it and raise _HugeFiles."""
    adding = asyncio.ensure_future(git.run(*words, variables=variables, stdin=stdin, accepts=(0, 1)))
    try:
        done, _ = await asyncio.wait({adding}, timeout=PATIENCE_SECONDS)
        if not done:
            found = await in_thread(lambda: find_huge_files(git.folder), name="searching huge files")
            if names := [name for name in found if name not in left_out]:
                raise _HugeFiles(names)
        return await adding
    finally:
        if not adding.done():
            adding.cancel()
            await asyncio.wait({adding})
            path = variables.get("GIT_INDEX_FILE") or str(await git.index_path())
            Path(f"{path}.lock").unlink(missing_ok=True)  # a killed git leaves it


def find_huge_files(folder: Path) -> list[str]:
    """Return the files that are larger than HUGE_BYTES, or large and almost all holes, which take no space."""
    found = []
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        paths = (os.path.join(root, name) for name in names)
        found += [os.path.relpath(path, folder) for path in paths if _is_huge(path)]
    return found


def _is_huge(path: str | Path) -> bool:
    try:
        facts = os.lstat(path)
    except OSError:
        return False
    is_sparse = facts.st_size > SPARSE_BYTES and facts.st_size > SPARSE_FACTOR * facts.st_blocks * 512
    return stat.S_ISREG(facts.st_mode) and (facts.st_size > HUGE_BYTES or is_sparse)


async def _remove_entries(git: Git, variables: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """Remove these files from an index, where an agent has added them to git; return those that were in it."""
    private = variables.get("GIT_INDEX_FILE")
    path = await git.index_path() if private is None else Path(private)
    index = path.read_bytes() if names and path.exists() else b""
    found = [name for name in names if os.fsencode(name) in index]
    if found:
        stdin = b"".join(os.fsencode(name) + b"\0" for name in found)
        await git.run("update-index", "--force-remove", "-z", "--stdin", stdin=stdin, variables=variables)
    return found
