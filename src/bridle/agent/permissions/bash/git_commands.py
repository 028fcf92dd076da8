"""Git commands: their subcommand, folders, and the programs that they run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Final

from bridle.agent.permissions.bash.words import Word

_OPTIONS_WITH_VALUE: Final = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"}
)
# Settings of format and author; every other one could name a program.
_PLAIN_SETTING = re.compile(
    r"(?:advice\.\w+|color\.[\w.]+|column\.\w+|user\.(?:name|email)|commit\.gpgsign|tag\.gpgsign|log\.(?:date|decorate)"
    r"|core\.(?:quotepath|abbrev|autocrlf|eol|filemode|safecrlf)|pull\.(?:rebase|ff)|push\.default|protocol\.version"
    r"|diff\.(?:renames|algorithm|context|noprefix|mnemonicprefix)|init\.defaultbranch|merge\.conflictstyle|gc\.auto"
    r"|rebase\.(?:autostash|autosquash)|status\.\w+)(?:=|\Z)",
    re.IGNORECASE,
)
# Settings that name a program.
_RUNNING_SETTING = re.compile(
    r"alias\.|core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|gitproxy|askpass)|sequence\.editor|diff\.external"
    r"|pager\.|include|protocol\.(?:.+\.)?allow|\.(?:vcs|uploadpack|receivepack|insteadof|pushinsteadof)$|\.(?:cmd|command|textconv|driver|helper|program|path|external|clean|smudge|process)$",
    re.IGNORECASE,
)
# Options whose value is run. Git accepts unambiguous abbreviations, so prefixes count too.
_RUNNING_OPTIONS: Final = (
    "--exec",
    "--upload-pack",
    "--receive-pack",
    "--extcmd",
    "--open-files-in-pager",
    "--ext-diff",
)
# Short options that run programs; they may stand behind others in one word (`grep -nOvim`).
_RUNNING_SHORT: Final = {"rebase": "x", "difftool": "x", "grep": "O", "clone": "uc", "fetch-pack": "u"}
# Options that give a new repository settings or hooks.
_OF_NEW_REPOSITORY: Final = ("--config", "--template")
_NEW_REPOSITORY: Final = ("clone", "init")
_RUNNING_NAMES: Final = "daemon difftool fast-import filter-branch instaweb mergetool p4 send-email svn web--browse"
# A remote whose address is a command.
_TRANSPORT = re.compile(r"(?:^|[.=])(?:ext|fd)::")
# Options with a file or a folder that is written.
_WRITING_OPTIONS: Final = {
    "checkout-index": re.compile(r"--pr"),
    "config": re.compile(r"--fi|-(?!-)\w*f"),
}
_HEAD = re.compile(rb"ref:\s*refs/|(?:[0-9a-f]{40}|[0-9a-f]{64})(?:\s|\Z)")
# Git reads no more of HEAD.
_HEAD_BYTES: Final = 255
_RUNNING_SUBCOMMANDS: Final = frozenset(_RUNNING_NAMES.split())
_SHORTEST_OPTION_CHARACTERS: Final = 4
# Options that take settings or programs from another place.
_FOREIGN: Final = ("--exec-path", "--config-env", "--git-dir", "--work-tree")


def git_command(words: Sequence[Word]) -> tuple[Word, ...]:
    """Return a git command without its global options, as in rules."""
    place = 1
    while place < len(words):
        value = words[place].value
        if value is None or not value.startswith("-"):
            break
        place += 2 if value in _OPTIONS_WITH_VALUE else 1
    return (words[0], *words[place:])


def git_folders(words: Sequence[Word]) -> list[str]:
    """Return the folders of a git command's -C options."""
    before = [word.value or "" for word in words[1 : len(words) - len(git_command(words)) + 1]]
    return [before[place + 1] for place, value in enumerate(before[:-1]) if value == "-C"]


def runs_more(words: Sequence[Word]) -> bool:
    """Return whether the words of a git command make it run another program."""
    return has_running_setting(words) or any(True for _ in git_carried(words))


def git_carried(words: Sequence[Word]) -> Iterator[tuple[Word, ...] | str]:
    """Yield the commands that the words of a git command make it run; unknown code is empty."""
    for word in words:
        name, sign, code = (word.value or "").partition("=!")
        if sign and "." in name:
            yield code
    rest = git_command(words)
    subcommand = (rest[1].value or "") if len(rest) > 1 else ""
    arguments = rest[2:]
    values = [word.value or "" for word in arguments]
    for value in values:
        if _TRANSPORT.search(value):
            yield value.partition("::")[2]
    for value, following in zip(values, [*values[1:], ""], strict=False):
        run = _value_that_runs(subcommand, value, following)
        if run is not None:
            yield run
            if subcommand in _NEW_REPOSITORY:  # a setting and its value
                yield run.partition("=")[2]
    yield from _subcommand_carries(subcommand, arguments, values)


def _subcommand_carries(
    subcommand: str, arguments: Sequence[Word], values: list[str]
) -> Iterator[tuple[Word, ...] | str]:
    if subcommand in _RUNNING_SUBCOMMANDS or subcommand.startswith("remote-") or _writes_elsewhere(subcommand, values):
        yield ""
    elif subcommand in ("bisect", "submodule") and {"run", "foreach"} & set(values):
        place = next(index for index, value in enumerate(values) if value in ("run", "foreach"))
        yield tuple(arguments[place + 1 :])
        yield " ".join(values[place + 1 :])
    elif subcommand == "config" and any(_RUNNING_SETTING.search(value) for value in values):
        yield values[-1].lstrip("!")


def _writes_elsewhere(subcommand: str, values: list[str]) -> bool:
    """Return whether a command writes files that its arguments name, and that may be outside of the working copy."""
    if subcommand == "worktree":
        return any(value.startswith(("/", "~")) or ".." in value.split("/") for value in values)
    options = _WRITING_OPTIONS.get(subcommand)
    return options is not None and any(options.match(value) for value in values)


def _value_that_runs(subcommand: str, value: str, following: str) -> str | None:
    """Return the value of an option that git runs, in its word or the following one; None for other words."""
    name, sign, code = value.partition("=")
    options = (*_RUNNING_OPTIONS, *_OF_NEW_REPOSITORY) if subcommand in _NEW_REPOSITORY else _RUNNING_OPTIONS
    if len(name) >= _SHORTEST_OPTION_CHARACTERS and any(option.startswith(name) for option in options):
        return code if sign else following
    letters = _RUNNING_SHORT.get(subcommand)
    short = re.match(rf"-(?!-)[^{letters}]*[{letters}](.*)", value, re.DOTALL) if letters else None
    return None if short is None else short[1] or following


def has_running_setting(words: Sequence[Word]) -> bool:
    """Return whether a git command has settings of its own that could name a program, or another repository."""
    before = [word.value for word in words[1 : len(words) - len(git_command(words)) + 1]]
    if len(words) > 1 and words[1].value is None:
        return True
    for place, value in enumerate(before):
        if value is None or value.startswith(_FOREIGN) or re.match(r"-c.", value):
            return True
        if value == "-c" and not _PLAIN_SETTING.match((before[place + 1] if place + 1 < len(before) else "") or ""):
            return True
    return False


def is_bare_repository(folder: str) -> bool:
    """Return whether git would use this folder or one above it as a bare repository.

    Such a folder can be part of a checkout, and its settings name programs that git runs. Git passes over a `.git`
    folder that is empty or incomplete.
    """
    while True:
        own = os.path.join(folder, ".git")
        if os.path.isfile(own) or (_has(own, "objects", "refs") and _names_a_commit(os.path.join(own, "HEAD"))):
            return False
        if _has(folder, "HEAD", "objects", "refs") or _has(folder, "HEAD", "commondir"):
            return True
        parent = os.path.dirname(folder)
        if parent == folder:
            return False
        folder = parent


def _has(folder: str, *names: str) -> bool:
    return all(os.path.lexists(os.path.join(folder, name)) for name in names)


def _names_a_commit(head: str) -> bool:
    """Return whether git accepts this file as HEAD: a link or a line that names a ref, or a commit's id."""
    if os.path.islink(head) and os.readlink(head).startswith("refs/"):
        return True
    try:
        with open(head, "rb") as file:
            return _HEAD.match(file.read(_HEAD_BYTES)) is not None
    except OSError:
        return False
