"""Commit everything in the working copy, with trailers; list commits with their trailers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from bridle.errors import UsageError
from bridle.workspace.git import Git
from bridle.workspace.git_folder import read_git_files, write_git_files

# The names of our own trailers begin so.
_OWN = "bridle-"
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9-]*\Z")


def format_message(subject: str, body: str = "", trailers: Mapping[str, str] | None = None) -> str:
    """Return a commit message: subject, body, and the trailers as the last paragraph."""
    first = " ".join(subject.split()) or "(no subject)"
    parts = [first, body.strip(), "\n".join(_trailer(name, value) for name, value in (trailers or {}).items())]
    return "\n\n".join(part for part in parts if part) + "\n"


async def commit(git: Git, text: str) -> str | None:
    """Commit everything that is not ignored; return None where nothing has changed."""
    await git.run("add", "-A")
    return await commit_index(git, text)


async def commit_index(git: Git, text: str, *, tree: str | None = None, is_refreshed: bool = False) -> str | None:
    """Commit the index, whose tree the caller may know; return None where nothing has changed.

    No hook of the repository runs and nothing is signed: both may wait for the user. Git's automatic maintenance is
    off too. `is_refreshed`: the index has the stat data of all files, which git need not read.
    """
    head = await git.head()
    staged = tree or await git.text("write-tree")
    if head is not None and staged == await git.tree_of(head):
        return None
    if is_refreshed and not await is_merging(git):
        return await _move_head(git, staged, head, text)
    flags = [*await git.identity(), "-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"]
    flags += ["-c", "maintenance.auto=false", "-c", "gc.auto=0"]
    await git.run(
        *flags, "commit", "--quiet", "--no-verify", "--allow-empty-message", "--cleanup=verbatim", "-F", "-",
        stdin=text.encode("utf-8", "surrogateescape"),
    )  # fmt: skip
    commit_id = await git.head()
    assert commit_id is not None  # noqa: S101  # a commit was made
    return commit_id


async def is_ancestor(git: Git, commit: str, other: str) -> bool:
    """Return whether a commit is the other one or below it; False for one that git does not have any more."""
    return commit == other or (await git.run("merge-base", "--is-ancestor", commit, other, accepts=(0, 1, 128)))[0] == 0


async def _move_head(git: Git, tree: str, head: str | None, text: str) -> str:
    """Commit a tree without reading the index."""
    commit = await write_commit(git, tree, [head] if head is not None else [], text)
    subject = text.partition("\n")[0]
    await git.move_head(commit, f"commit: {subject}", old=head or "0" * len(commit))
    return commit


async def write_commit(
    git: Git, tree: str, parents: Sequence[str], text: str, *, author_from: str | None = None
) -> str:
    """Write a commit of the user that is on no branch; return its id. No hook runs, and nothing is signed.

    `author_from`: the commit whose author and time it has.
    """
    try:
        if not await git.is_plain():
            raise read_git_files.NeedsGit
        author = (
            await git.signature("author") if author_from is None else read_git_files.author_of(git.folder, author_from)
        )
        committer = await git.signature("committer")
        return write_git_files.write_commit(git.folder, tree, parents, author, committer, text.removesuffix("\n"))
    except read_git_files.NeedsGit:
        flags = [*await git.identity(), "-c", "commit.gpgsign=false"]
        arguments = [word for parent in parents for word in ("-p", parent)]
        stdin = text.encode("utf-8", "surrogateescape")
        variables = await _author_variables(git, author_from) if author_from is not None else {}
        words = (*flags, "commit-tree", tree, *arguments, "-F", "-")
        return (await git.run(*words, stdin=stdin, variables=variables))[1].strip()


async def _author_variables(git: Git, commit: str) -> dict[str, str]:
    """Return the variables that set the author of a commit, as another one has it."""
    values = (await git.text("log", "-1", "--format=%an%x00%ae%x00%aI", commit)).split("\0")
    return dict(zip(("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"), values, strict=True))


async def is_merging(git: Git) -> bool:
    """Return whether git would do more than commit the index: end a merge or a cherry-pick."""
    folder = (await git.index_path()).parent
    return any((folder / name).exists() for name in ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG"))


class CommitInfo(Struct, frozen=True):
    """A commit and its trailers; of several with one name the last."""

    commit: str
    parents: tuple[str, ...]
    trailers: Mapping[str, str]
    message: str = ""
    """Empty where only the trailers were read."""


async def list_commits(git: Git, base: str, *, limit: int | None = None) -> list[CommitInfo]:
    """Return the commits of HEAD that are not in `base`, the newest first, with one git."""
    head = await git.head()
    if head is None or head == base:
        return []
    text = git.listings.get((head, base, limit))
    if text is None:
        words = [f"--max-count={limit}"] if limit is not None else []
        form = "--format=%H %P%n%(trailers:only,unfold)%x00"
        text = await git.text("log", "--topo-order", form, *words, "--end-of-options", f"{base}..{head}")
        git.listings = {(head, base, limit): text}  # an older head is not listed again
    return [_parse_commit(block.strip("\n")) for block in text.split("\0") if block.strip("\n")]


async def read_commits(git: Git, *words: str, ids: Sequence[str] = ()) -> list[CommitInfo]:
    """Return commits that `git rev-list` lists; `ids` that git does not have are left out.

    No setting of the repository changes the output or starts a program.
    """
    form = "--format=%H %P%n%B%x00"
    stdin = "".join(f"{commit}\n" for commit in ids).encode("ascii") if ids else None
    chosen = ("--no-walk=unsorted", "--ignore-missing", "--stdin") if ids else ()
    text = (await git.run("rev-list", form, *chosen, *words, stdin=stdin))[1]
    blocks = (block.strip("\n").partition("\n")[2] for block in text.split("\0"))  # without "commit <id>"
    return [_parse_raw(block) for block in blocks if block]


def _parse_raw(block: str) -> CommitInfo:
    """Parse ids and message; the trailers are the lines `Name: value` of the last paragraph.

    As git does, their names are compared without case, and space before the colon is ignored.
    """
    first, _, message = block.partition("\n")
    commit, *parents = first.split(" ")
    lines = message.strip().rpartition("\n\n")[2].splitlines()
    pairs = (line.partition(":") for line in lines)
    trailers = {_canonical(name): value.strip() for name, colon, value in pairs if colon and _KEY.match(name.rstrip())}
    return CommitInfo(commit, tuple(parent for parent in parents if parent), trailers, message)


def _canonical(name: str) -> str:
    """Return the name of a trailer as this program writes its own."""
    name = name.rstrip()
    return "-".join(map(str.capitalize, name.split("-"))) if name.lower().startswith(_OWN) else name


def first_parents(commits: list[CommitInfo]) -> list[CommitInfo]:
    """Return those of the listed commits that are on the line of first parents."""
    by_id = {info.commit: info for info in commits}
    line: list[CommitInfo] = []
    info = commits[0] if commits else None
    while info is not None:
        line.append(info)
        info = by_id.get(info.parents[0]) if info.parents else None
    return line


def _parse_commit(block: str) -> CommitInfo:
    first, _, rest = block.partition("\n")
    commit, *parents = first.split(" ")
    pairs = (line.partition(": ") for line in rest.splitlines())
    return CommitInfo(commit, tuple(parents), {name: value for name, colon, value in pairs if colon})


def _trailer(name: str, value: str) -> str:
    if not _KEY.match(name):
        raise UsageError(f"a trailer name must be letters, digits and '-', got {name!r}")
    return f"{name}: {' '.join(value.split())}"
