"""Which git commands show the content of files, and of which files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from bridle.agent.permissions.bash.git_commands import git_command
from bridle.agent.permissions.bash.words import Word

# Subcommands that show content of the working copy and the index, or of any commit.
_OF_INDEX: Final = frozenset({"diff", "diff-files", "grep"})
_OF_HISTORY: Final = frozenset(
    (
        "archive",
        "cat-file",
        "diff-index",
        "checkout-index",
        "diff-tree",
        "fast-export",
        "format-patch",
        "range-diff",
        "show",
        "unpack-file",
    )
)
# Subcommands that show content only with an option.
_WITH_PATCH: Final = frozenset({"whatchanged", "log", "reflog", "stash", "rev-list", "shortlog"})
_PATCH = re.compile(
    r"-[puUWcm]\w*|-[LGS].*|--(?:patch|unified|word-diff|color-words|cc|remerge-diff|diff-merges|ext-diff|binary"
    r"|function-context|combined-all-paths|full-diff)(?:[-=].*)?",
)
# Options with which no content is shown.
_NO_CONTENT = re.compile(
    r"--(?:stat|name-only|name-status|shortstat|numstat|summary|quiet|no-patch|raw|dirstat|check|compact-summary"
    r"|files-with-matches|files-without-match|count)(?:=.*)?|-s|-q|-t|-e|-l|-c",
)
_EXCLUDED = re.compile(r":(?:!|\^|\((?:[a-z]+,)*exclude(?:,[a-z]+)*\))/?(.+)", re.DOTALL)


class GitContent(msgspec.Struct, frozen=True):
    """The content that a git command shows."""

    names: tuple[str, ...] = ()
    """The paths behind `--`; empty: every file."""
    excluded: frozenset[str] = frozenset()
    is_history: bool = True
    """Whether it can be of files that are not in the index."""


def git_content(words: Sequence[Word]) -> GitContent | None:
    """Return what a git command shows; None if it shows no content."""
    rest = git_command(words)[1:]
    subcommand = (rest[0].value or "") if rest else ""
    values = [word.value or "" for word in rest[1:]]
    options = values[: values.index("--")] if "--" in values else values
    has_patch = any(_PATCH.fullmatch(value) for value in options)
    if subcommand == "worktree" and "add" in options:
        return GitContent()  # a checkout of every file
    if subcommand not in _OF_INDEX | _OF_HISTORY and not (subcommand in _WITH_PATCH and has_patch):
        return None
    shows_names_only = any(_NO_CONTENT.fullmatch(value) for value in options)
    if shows_names_only and subcommand != "grep" and not has_patch:  # names of matches tell of the content
        return None
    names = values[values.index("--") + 1 :] if "--" in values else []
    excluded = frozenset(found[1] for name in values if (found := _EXCLUDED.fullmatch(name)) is not None)
    specs = tuple(name for name in names if not name.startswith((":!", ":^")) and not _EXCLUDED.fullmatch(name))
    plain = () if any(re.match(r":|.*[*?\[]", name) for name in specs) or "." in specs else specs
    revisions = [value for value in options if not value.startswith("-")]
    if revisions and all(re.match(r".*?:[^(!^/:]", value) for value in revisions):
        return None  # REVISION:PATH shows that file alone, and the path is judged as a word
    is_of_index = subcommand in _OF_INDEX and len(revisions) <= (1 if subcommand == "grep" else 0)
    return GitContent(plain, excluded, not is_of_index)
