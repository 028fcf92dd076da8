"""Commits that Bridle makes: everything in the working copy, with trailers that say what it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from bridle.errors import UsageError
from bridle.workspace.git import Git

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9-]*\Z")


def message(subject: str, body: str = "", trailers: Mapping[str, str] | None = None) -> str:
    """A commit's message: one line, what there is to say, and the trailers as the last paragraph."""
    first = " ".join(subject.split()) or "(no subject)"
    parts = [first, body.strip(), "\n".join(_trailer(name, value) for name, value in (trailers or {}).items())]
    return "\n\n".join(part for part in parts if part) + "\n"


async def commit(git: Git, text: str) -> str | None:
    """Commit everything that is not ignored; None where nothing has changed."""
    await git.run("add", "-A")
    return await commit_index(git, text)


async def commit_index(git: Git, text: str, *, tree: str | None = None) -> str | None:
    """Commit what is staged, whose tree the caller may know; None where that is nothing new.

    No hook of the repository runs and nothing is signed: both may wait for a person. Nor is the repository tidied up,
    which git does now and then after a commit.
    """
    head = await git.head()
    staged = tree or await git.text("write-tree")
    if head is not None and staged == await git.tree_of(head):
        return None
    flags = [*await git.identity(), "-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"]
    flags += ["-c", "maintenance.auto=false", "-c", "gc.auto=0"]
    await git.run(
        *flags, "commit", "--quiet", "--no-verify", "--allow-empty-message", "--cleanup=verbatim", "-F", "-",
        given=text.encode("utf-8", "surrogateescape"),
    )  # fmt: skip
    made = await git.head()
    assert made is not None  # noqa: S101  # a commit was made
    return made


@dataclass(frozen=True)
class Listed:
    """A commit and what its trailers say; of several with one name the last."""

    commit: str
    parents: tuple[str, ...]
    trailers: Mapping[str, str]


async def listed(git: Git, base: str, *, limit: int | None = None) -> list[Listed]:
    """The commits that HEAD has and `base` has not, the newest first, by one git; at most so many."""
    head = await git.head()
    if head is None or head == base:
        return []
    text = git.listings.get((head, base, limit))
    if text is None:
        words = [f"--max-count={limit}"] if limit is not None else []
        form = "--format=%H %P%n%(trailers:only,unfold)%x00"
        text = await git.text("log", "--topo-order", form, *words, "--end-of-options", f"{base}..{head}")
        git.listings = {(head, base, limit): text}  # nobody asks for that of an older head
    return [_listed(block.strip("\n")) for block in text.split("\0") if block.strip("\n")]


def first_parents(commits: list[Listed]) -> list[Listed]:
    """Those of listed commits that stand on the line of first parents."""
    by_id = {one.commit: one for one in commits}
    line: list[Listed] = []
    next_one = commits[0] if commits else None
    while next_one is not None:
        line.append(next_one)
        next_one = by_id.get(next_one.parents[0]) if next_one.parents else None
    return line


def _listed(block: str) -> Listed:
    first, _, rest = block.partition("\n")
    commit, *parents = first.split(" ")
    pairs = (line.partition(": ") for line in rest.splitlines())
    return Listed(commit, tuple(parents), {name: value for name, colon, value in pairs if colon})


async def trailers_of(git: Git, commit_id: str) -> dict[str, str]:
    """The trailers of a commit; of several with one name the last."""
    text = await git.text("log", "-1", "--format=%(trailers:only,unfold)", "--end-of-options", commit_id)
    pairs = (line.partition(": ") for line in text.splitlines())
    return {name: value for name, colon, value in pairs if colon}


def _trailer(name: str, value: str) -> str:
    if not _KEY.match(name):
        raise UsageError(f"{name!r} is no name for a trailer", remedy="Use letters, digits and '-'.")
    return f"{name}: {' '.join(value.split())}"
