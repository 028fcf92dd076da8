"""Finds out whether a command names, or would show the content of, a file that a rule denies.

Only what a command says is known: a program that opens files of its own accord is not among it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from bridle.agent.permissions.bash import read_only_table
from bridle.agent.permissions.bash.command_options import known_options, parse
from bridle.agent.permissions.bash.git_content import GitContent, git_content
from bridle.agent.permissions.bash.parsed_command import Redirect
from bridle.agent.permissions.bash.words import Word
from bridle.agent.permissions.bash.wrappers import basename
from bridle.agent.permissions.rules.file_access import WRITERS, denial
from bridle.agent.permissions.rules.policy import Policy
from bridle.agent.permissions.rules.rule_paths import glob_matches, is_inside, pattern_folder
from bridle.ground.git_folder import repository_top
from bridle.ground.git_index import tracked_names
from bridle.ground.real_path import resolve

_FILE_RULES: Final = frozenset({"Read", *WRITERS})
# The most folders that a command may be in after several `cd`.
_LIMIT_FOLDERS: Final = 16
# Scanning this many takes some tenths of a second.
_LIMIT_ENTRIES: Final = 200_000
_MOVERS: Final = frozenset({"cd", "pushd", "chdir"})
_PRINTERS: Final = frozenset({"echo", "printf"})
# Programs that read everything below a folder: always, or with an option.
_RECURSIVE: Final = frozenset({"rg", "ag", "ack", "tar", "zip", "7z", "rsync"})
_RECURSIVE_WITH: Final = re.compile(r"-(?!-)\w*[rRa]|--recursive|--archive|--dereference-recursive|recurse\Z")
_RECURSIVE_OPTIONS: Final = frozenset({"grep", "egrep", "fgrep", "zgrep", "diff", "cp", "scp"})
_SEARCHES: Final = frozenset({"rg", "ag", "ack", "grep", "egrep", "fgrep", "zgrep"})
# The end of a word of which only the beginning is unknown: "$FOLDER/name".
_KNOWN_END: Final = re.compile(r"[)}\w`]\"?/([^\"'`$(){}\s]+)[\"']?\Z")
_SHOWS_HIDDEN: Final = re.compile(r"-(?!-)\w*[u.]|--hidden|--unrestricted|--no-ignore|--pre")


def guards_files(policy: Policy) -> bool:
    """Return whether a rule denies some files."""
    return any(rule.specifier is not None and rule.tool in _FILE_RULES for rule in policy.deny)


def uses_denied_file(lines: Sequence[tuple[Word, ...]], redirects: Sequence[Redirect], policy: Policy) -> bool:
    """Return whether one of the command lines, or a redirection, uses a file that a rule denies."""
    return _DeniedFiles(lines, policy).are_used(lines, redirects)


class _DeniedFiles:
    """The denied files as one command could reach them."""

    def __init__(self, lines: Sequence[tuple[Word, ...]], policy: Policy) -> None:
        self._policy = policy
        self._is_lost = False
        """Whether the command goes to a folder that is not known."""
        self._folders = list(dict.fromkeys((policy.shell_folder or policy.cwd, policy.cwd)))
        for words in lines:
            self._follow(words)

    def are_used(self, lines: Sequence[tuple[Word, ...]], redirects: Sequence[Redirect]) -> bool:
        for redirect in redirects:
            if self._is_denied(redirect.target, "Read" if redirect.is_read else "Edit"):
                return True
        return any(self._names_one(words) or self._reads_below(words) for words in lines)

    def _names_one(self, words: Sequence[Word]) -> bool:
        if not words or basename(words[0].value or "") in _PRINTERS:
            return False
        return any(self._is_denied(word, tool) for word in words for tool in ("Read", "Edit"))

    def _is_denied(self, word: Word, tool: str) -> bool:
        for folder in self._folders:
            for path in _paths(word, folder):
                resolved = resolve(path, folder, self._policy.home)
                if resolved is not None and denial(resolved, self._policy, tool=tool):
                    return True
        if word.value is None:
            end = _KNOWN_END.search(word.text)
            return end is not None and self._could_name(end[1])
        return self._is_lost and tool == "Read" and self._could_name(word.value)

    def _could_name(self, path: str) -> bool:
        """Return whether a relative path is that of a denied file in some working folder."""
        value = os.path.normpath(path)
        if not path or value.startswith(("/", "-", "..")) or value == ".":
            return False
        found = (path for folder in self._policy.working_folders for path in self._below(folder) or ())
        return any(path.endswith(f"/{value}") or fnmatchcase(path, f"*/{value}") for path in found)

    # Folders

    def _follow(self, words: Sequence[Word]) -> None:
        """Add the folders that a command changes to, from each folder that it may be in."""
        for target in _targets(words):
            known = None if target.value in (None, "", "-") or target.glob_at >= 0 else target.value
            more = [resolve(known, folder, self._policy.home) for folder in self._folders] if known else [None]
            self._is_lost = self._is_lost or None in more or len(self._folders) > _LIMIT_FOLDERS
            self._folders += [folder for folder in more if folder is not None and folder not in self._folders]

    # Programs that read many files

    def _reads_below(self, words: Sequence[Word]) -> bool:
        program = basename(words[0].value or "") if words else ""
        if program == "git":
            content = git_content(words)
            return content is not None and self._git_shows(content)
        if not _is_recursive(program, words):
            return False
        return any(self._shows_below(folder, program, words) for folder in self._searched(program, words))

    def _searched(self, program: str, words: Sequence[Word]) -> list[str]:
        """Return the folders that a recursive program reads; without a name a search reads the current one."""
        listed = read_only_table.entries(read_only_table.READERS_TEXT).get(program)
        arguments = parse(words[1:], known_options(listed[1])) if listed else None
        names = [word for word in words[1:] if not (word.value or "").startswith("-")]
        if arguments is not None:
            has_pattern = {"-e", "-f", "--regexp", "--file", "--files"} & arguments.options
            names = list(arguments.names if has_pattern or program not in _SEARCHES else arguments.names[1:])
        paths = [
            resolved
            for word in names
            for folder in self._folders
            for path in _paths(word, folder)
            if (resolved := resolve(path, folder, self._policy.home)) is not None and os.path.exists(resolved)
        ]
        is_here = program in _SEARCHES and (not paths or arguments is None)
        return [path for path in paths if os.path.isdir(path)] + (self._folders if is_here else [])

    def _shows_below(self, folder: str, program: str, words: Sequence[Word]) -> bool:
        found = self._below(folder)
        if found is None:
            return True
        values = [word.value or "" for word in words[1:]]
        if program == "rg" and not any(_SHOWS_HIDDEN.match(value) for value in values):
            found = [path for path in found if not _is_hidden_name(path[len(folder) :])]
        included, excluded = _filters(values)
        names = [path[len(folder) :].lstrip("/") for path in found]
        if included:
            return any(_is_one_of((name.rpartition("/")[2],), included) for name in names)
        return any(not _is_one_of(name.split("/"), excluded) for name in names)

    def _below(self, folder: str) -> list[str] | None:
        """Return the denied files below a folder; None if there are too many files to look at."""
        return denied_below(folder, self._policy)

    # Git

    def _git_shows(self, content: GitContent) -> bool:
        """Return whether git could show a denied file: of the index, or of a history that only git knows."""
        patterns = [rule.specifier for rule in self._policy.deny if rule.specifier and rule.tool == "Read"]
        patterns = [pattern for pattern in patterns if not pattern.startswith(("//", "~"))]
        if not patterns or all(pattern.removeprefix("./").lstrip("/") in content.excluded for pattern in patterns):
            return False
        if content.is_history and not content.names:
            return True
        top = repository_top(Path(self._folders[0]))
        names = None if top is None else tracked_names(top)
        if top is None or names is None:
            return top is not None
        chosen = [resolve(name, folder, self._policy.home) for name in content.names for folder in self._folders]
        for name in names:
            path = f"{top}/{os.fsdecode(name)}"
            is_chosen = not chosen or any(spec and (path == spec or path.startswith(f"{spec}/")) for spec in chosen)
            if is_chosen and denial(path, self._policy, tool="Read"):
                return True
        return False


def denied_below(folder: str, policy: Policy) -> list[str] | None:
    """Return the files below a folder that a rule denies reading; None if there are too many entries."""
    found: list[str] = []
    left, folders = _LIMIT_ENTRIES, _folders_to_look_in(folder, policy)
    while folders:
        place = folders.pop()
        try:
            entries = list(os.scandir(place))
        except NotADirectoryError:
            found += [place] if denial(place, policy, tool="Read") else []
            continue
        except OSError:
            continue  # what we cannot list, the command cannot read
        left -= len(entries)
        if left < 0:
            return None
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif denial(entry.path, policy, tool="Read"):
                found.append(entry.path)
    return found


def _folders_to_look_in(folder: str, policy: Policy) -> list[str]:
    """Return the folders, at or below the given one, where denied files can be."""
    patterns = [rule.specifier for rule in policy.deny if rule.specifier is not None and rule.tool == "Read"]
    bases = {pattern_folder(pattern, policy.cwd, policy.home) for pattern in patterns}
    inside = {base for base in bases if is_inside(base, (folder,))}
    return [folder] if any(is_inside(folder, (base,)) for base in bases) else sorted(inside)


def _targets(words: Sequence[Word]) -> Iterator[Word]:
    """Yield the folders that a command line changes to."""
    if words and basename(words[0].value or "") in _MOVERS:
        names = [word for word in words[1:] if not (word.value or "x").startswith("-") or word.value == "-"]
        yield from names or [Word("", None)]
        return
    for place, word in enumerate(words[:-1]):
        if word.value in ("-C", "--chdir", "--directory"):
            yield words[place + 1]
    for word in words:
        name, sign, value = (word.value or "").partition("=")
        if sign and name in ("--chdir", "--directory"):
            yield Word(value, value)


def _is_recursive(program: str, words: Sequence[Word]) -> bool:
    values = [word.value or "" for word in words[1:]]
    if program == "find":
        return any(value.startswith(("-exec", "-ok")) for value in values)
    has_option = any(_RECURSIVE_WITH.match(value) for value in values)
    return program in _RECURSIVE or (program in _RECURSIVE_OPTIONS and has_option)


def _is_hidden_name(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


def _filters(values: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the patterns of the names that a search includes, and of those that it excludes."""
    included: list[str] = []
    excluded: list[str] = []
    before = ""
    for value in values:
        name, _, pattern = value.partition("=")
        if before in ("-g", "--glob"):
            name, pattern = before, value
        if name in ("--exclude", "--exclude-dir") or (name in ("-g", "--glob") and pattern.startswith("!")):
            excluded.append(pattern.removeprefix("!").strip("/"))
        elif name in ("-g", "--glob", "--include") and pattern:
            included.append("*" if "{" in pattern else pattern.rpartition("/")[2])
        before = value
    return included, excluded


def _is_one_of(names: Iterable[str], patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def _paths(word: Word, folder: str) -> list[str]:
    """Return the paths that a word may name: itself, the matches of its glob, what follows `=` or `REVISION:`."""
    value = word.value
    if not value:
        return []
    if word.glob_at >= 0:
        paths = glob_matches(value, word.glob_at, folder) or []
        return [path for path in paths if "[" in value or fnmatchcase(path, value)]
    if value.startswith((":!", ":^", ":(exclude", "--exclude")):
        return []  # what is left out
    parts = [value, value.partition("=")[2]]
    parts += [value[place + 1 :] for place, letter in enumerate(value) if letter == ":"]
    return [part for part in parts if part]
