"""Which git commands show the content of files, and of which files, as far as all arguments are understood.

A subcommand or option that is not listed counts as showing every file of every commit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from bridle.agent.permissions.bash.command_options import Arguments, are_known, known_options, parse
from bridle.agent.permissions.bash.git_commands import git_command, has_running_setting
from bridle.agent.permissions.bash.words import Word

# Options that choose commits, and how names and messages are shown.
_CHOICE: Final = """
-n: -# -z -M? -C? -i -E -F -P -r -t -g --cached --staged --color? --no-color --abbrev? --no-abbrev --find-renames?
--no-renames --diff-filter= --no-ext-diff --no-textconv --oneline --graph --decorate? --no-decorate --all --branches?
--tags? --remotes? --max-count= --skip= --since= --after= --until= --before= --author= --committer= --grep= --all-match
--invert-grep --regexp-ignore-case --merges --no-merges --first-parent --pretty? --format? --abbrev-commit
--no-abbrev-commit --date= --relative-date --left-right --cherry-pick --topo-order --date-order --reverse --no-walk?
--walk-reflogs --count --root --no-commit-id --merge-base --exit-code --no-prefix --relative
"""
# Options with which names are shown instead of content.
_NAMES: Final = """
--stat? --name-only --name-status --shortstat --numstat --summary --quiet -q --no-patch -s --raw --dirstat?
--compact-summary
"""
# Options that show content, of the named files alone.
_PATCH: Final = """
-p -u -U? -w -b --patch --unified? --ignore-space-change --ignore-all-space --ignore-blank-lines --word-diff?
--color-words? --minimal --patience --histogram --function-context -W
"""
_GREP: Final = """
-a -A: -B: -C: -c -e: -E -F -G -h -H -i -I -l -L -n -o -P -p -q -v -w -W --break --cached --color? --count --column
--files-with-matches --files-without-match --heading --ignore-case --line-number --name-only --no-color
--show-function --word-regexp --and --or --not --all-match --only-matching --full-name
"""
_STATUS: Final = """
-b -s -u? -z --ahead-behind --no-ahead-behind --branch --column? --find-renames? --ignored? --ignore-submodules? --long
--no-renames --porcelain? --short --show-stash --untracked-files?
"""
_SHORTLOG: Final = "-s -n -e --summary --numbered --email --all --no-merges --since= --until= --author= --group="
_LOGS: Final = frozenset({"log", "reflog", "rev-list", "whatchanged"})
_DIFFS: Final = frozenset({"diff", "diff-files", "diff-index", "diff-tree", "show"})
# Subcommands that show no content of files, or that of the files they name, without an option of the next table.
_OTHERS_TEXT: Final = """
add am annotate apply blame branch check-attr check-ignore checkout cherry cherry-pick clean commit commit-tree config
count-objects describe fetch for-each-ref fsck gc hash-object help init ls-files ls-remote ls-tree maintenance merge
merge-base name-rev notes prune pull push rebase remote reset restore rev-parse revert rm show-branch show-ref
sparse-checkout stash submodule switch symbolic-ref tag update-index update-ref version write-tree
"""
_OTHERS: Final = frozenset(_OTHERS_TEXT.split())
# Options of those with which they show patches, with their abbreviations.
_LONG_PATCH: Final = r"--(?:p|pa|pat|patc|patch|v|ve|ver|verb\w*|int\w*|e|ed|edi|edit|show-c\S*)(?:=.*)?"
_SHOWS_PATCH: Final = {
    "add": re.compile(rf"{_LONG_PATCH}|-(?!-)\w*[piev].*"),
    "am": re.compile(_LONG_PATCH),
    "checkout": re.compile(rf"{_LONG_PATCH}|-(?!-)[^bB]*p.*"),
    "commit": re.compile(rf"{_LONG_PATCH}|-(?!-)[^mFCctuS]*[pv].*"),
    "rebase": re.compile(_LONG_PATCH),
    "reset": re.compile(rf"{_LONG_PATCH}|-(?!-)\w*p.*"),
    "restore": re.compile(rf"{_LONG_PATCH}|-(?!-)[^s]*p.*"),
    "stash": re.compile(rf"{_LONG_PATCH}|-(?!-)[^m]*p.*"),
}
# A remote repository; a clone of a folder would be a copy of the denied files.
_ADDRESS: Final = re.compile(r"(?:https?|ssh|git)://|[\w.-]+@[\w.-]+:")
_BLOB: Final = re.compile(r"[\w./~^@-]*:([\w.][\w./@+ -]*)")
# What can only be a commit; a bare hash can be one of a file, whose content `git show --stat` shows too.
_COMMIT: Final = re.compile(r"(?![0-9a-f]{4,64}\Z)[\w./@~^-]*?(?:@\{[\w/]+\})?[~^\d]*")
_EXCLUDED: Final = re.compile(r":(?:!|\^|\(exclude[,\w]*\))(.+)", re.DOTALL)


class GitContent(msgspec.Struct, frozen=True):
    """The content that a git command shows."""

    names: tuple[str, ...] = ()
    """The paths behind `--`; empty: every file."""
    excluded: frozenset[str] = frozenset()
    """The words behind `--` that leave files out."""
    is_history: bool = True
    """Whether it can be of files that are not in the index."""
    blobs: tuple[str, ...] = ()
    """The paths of `REVISION:PATH`, from the top of the repository; with them nothing else is shown."""


def git_content(words: Sequence[Word]) -> GitContent | None:
    """Return what a git command shows; None if it shows no content."""
    rest = git_command(words)[1:]
    if not rest:
        return None
    subcommand, arguments = rest[0].value or "", rest[1:]
    values = [word.value or "" for word in arguments]
    place = values.index("--") if "--" in values else len(values)
    front, names = arguments[:place], values[place + 1 :]
    if has_running_setting(words) or any(word.value == "--literal-pathspecs" for word in words):
        return GitContent()
    if subcommand == "stash" and values[:1] in (["list"], ["show"]):
        return None if _are_of(front[1:], _CHOICE + _NAMES) else GitContent()
    if subcommand == "mv":
        return GitContent(tuple(value for value in values if not value.startswith("-")), is_history=False)
    if subcommand in _DIFFS | _LOGS or subcommand in ("grep", "cat-file", "status", "shortlog"):
        return _shown(subcommand, front, names)
    return None if _is_without_content(subcommand, values[:place]) else GitContent()


def _is_without_content(subcommand: str, options: Sequence[str]) -> bool:
    if subcommand == "clone":
        return any(_ADDRESS.match(value) for value in options)
    if subcommand == "worktree":
        return options[:1] != ["add"]  # a checkout of every file
    shows = _SHOWS_PATCH.get(subcommand)
    return subcommand in _OTHERS and not (shows and any(shows.fullmatch(value) for value in options))


def _shown(subcommand: str, front: Sequence[Word], names: Sequence[str]) -> GitContent | None:
    """Return what a subcommand shows of the named files, if it is one that can show content."""
    if _shows_names_only(subcommand, front):
        return None
    is_grep = subcommand == "grep"
    arguments = _parse(front, _GREP if is_grep else _CHOICE + _NAMES + _PATCH)
    if arguments is None or subcommand in ("status", "shortlog"):
        return GitContent()
    blobs = [_BLOB.fullmatch(word.value or "") for word in arguments.names]
    if blobs and not is_grep and not names and all(blobs):
        return GitContent(blobs=tuple(blob[1] for blob in blobs if blob))
    revisions = arguments.names[1:] if is_grep and "-e" not in arguments.options else arguments.names
    if subcommand == "cat-file" or not _are_commits(revisions):
        return GitContent()
    excluded = frozenset(name for name in names if _EXCLUDED.fullmatch(name))
    specs = tuple(name for name in names if name not in excluded)
    is_plain = all(re.fullmatch(r"[^:*?\[\\][^*?\[\\]*", name) for name in specs)
    from_commit = {"--cached", "--staged", "--merge-base"} & arguments.options and not is_grep
    is_history = bool(subcommand not in ("diff", "diff-files", "grep") or revisions or from_commit)
    return GitContent(specs if is_plain and "." not in specs else (), excluded, is_history)


def _shows_names_only(subcommand: str, front: Sequence[Word]) -> bool:
    if subcommand == "status":
        return _are_of(front, _STATUS)
    if subcommand == "shortlog":
        return _are_of(front, _SHORTLOG)
    if subcommand == "cat-file":
        return _are_of(front, "-e -s -t")
    arguments = _parse(front, f"{_CHOICE} {_NAMES} --follow")
    if arguments is None or subcommand == "grep":
        return False  # names of matches tell of the content
    if subcommand == "show" and not _are_commits(arguments.names):
        return False
    return subcommand in _LOGS or bool(set(_NAMES.replace("?", "").split()) & arguments.options)


def _are_commits(words: Sequence[Word]) -> bool:
    return all(_COMMIT.fullmatch(side) for word in words for side in re.split(r"\.{2,3}", word.value or "?"))


def _are_of(words: Sequence[Word], options: str) -> bool:
    return _parse(words, options) is not None


def _parse(words: Sequence[Word], options: str) -> Arguments | None:
    known = known_options(options)
    plain_words = [word if word.value is not None else Word(word.text, "?") for word in words]
    return parse(plain_words, known) if are_known(plain_words, known) else None
