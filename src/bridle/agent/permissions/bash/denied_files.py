"""Finds out whether a command names, or would show the content of, a file that a rule denies.

Only what a command says is known: a program that opens files of its own accord is not among it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import msgspec

from bridle.agent.permissions.bash.git_content import GitContent, git_content
from bridle.agent.permissions.bash.parsed_command import Redirect
from bridle.agent.permissions.bash.searches import SEARCHES, Search, read_search
from bridle.agent.permissions.bash.words import Word, plain
from bridle.agent.permissions.bash.wrappers import basename
from bridle.agent.permissions.rules.file_access import WRITERS, denial
from bridle.agent.permissions.rules.policy import Policy
from bridle.agent.permissions.rules.rule_paths import glob_matches, is_inside, links_below, pattern_folder
from bridle.ground.files.real_path import resolve
from bridle.ground.git_folder import repository_top
from bridle.ground.git_index import tracked_names

_FILE_RULES: Final = frozenset({"Read", *WRITERS})
# The most folders that a command may be in after several `cd`.
_LIMIT_FOLDERS: Final = 16
# Scanning this many takes some tenths of a second.
_LIMIT_ENTRIES: Final = 200_000
_MOVERS: Final = frozenset({"cd", "pushd", "chdir"})
_PRINTERS: Final = frozenset({"echo", "printf"})
# Programs that read or move everything below a folder that they name.
_RECURSIVE: Final = frozenset({"7z", "cp", "diff", "mv", "rsync", "scp", "tar", "zip"})
# The end of a word of which only the beginning is unknown: "$FOLDER/name".
_KNOWN_END: Final = re.compile(r"[)}\w`]\"?/([^\"'`$(){}\s]+)[\"']?\Z")

# A literal path that git leaves out, with all below it.
_LEFT_OUT: Final = re.compile(r":(?:!|\^|\(exclude\))([^*?\[\\]+?)(?:/\*\*)?", re.DOTALL)


def guards_files(policy: Policy) -> bool:
    """Return whether a rule denies some files."""
    return any(rule.specifier is not None and rule.tool in _FILE_RULES for rule in policy.deny)


def uses_denied_file(lines: Sequence[tuple[Word, ...]], redirects: Sequence[Redirect], policy: Policy) -> bool:
    """Return whether one of the command lines, or a redirection, uses a file that a rule denies."""
    folder = policy.shell_folder or policy.cwd
    policies = [policy]
    if policy.checkout is not None:  # the rules of the working copy are relative to it
        policies.append(msgspec.structs.replace(policy, cwd=policy.checkout, shell_folder=folder))
    return any(_DeniedFiles(lines, each).are_used(lines, redirects) for each in policies)


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
        search = self._search(program, words[1:])
        return search is not None and any(
            self._shows_below(folder, search)
            for folder in self._searched(search, is_here=program in (*SEARCHES, "find"))
        )

    def _search(self, program: str, words: Sequence[Word]) -> Search | None:
        """Return what a program reads below folders; None for one that does not."""
        if program in SEARCHES:
            return Search((plain("."),)) if self._has_option_by_glob(words) else read_search(program, words)
        runs = program == "find" and any((word.value or "").startswith(("-exec", "-ok")) for word in words)
        return Search(tuple(words)) if runs or program in _RECURSIVE else None

    def _has_option_by_glob(self, words: Sequence[Word]) -> bool:
        """Return whether a glob matches a file whose name looks like an option."""
        globs = [word for word in words if word.glob_at >= 0]
        return any(path.startswith("-") for word in globs for folder in self._folders for path in _paths(word, folder))

    def _searched(self, search: Search, *, is_here: bool) -> list[str]:
        """Return the folders that are read; a search without a name reads the current one."""
        paths = [
            resolved
            for word in search.names
            for folder in self._folders
            for path in _paths(word, folder)
            if (resolved := resolve(path, folder, self._policy.home)) is not None and os.path.exists(resolved)
        ]
        return [path for path in paths if os.path.isdir(path)] + (self._folders if is_here and not paths else [])

    def _shows_below(self, folder: str, search: Search) -> bool:
        found = self._below(folder)
        if found is None or (search.follows and self._links_to_one(folder)):
            return True
        return any(search.reads(path[len(folder) :].lstrip("/")) for path in found)

    def _links_to_one(self, folder: str) -> bool:
        """Return whether a link below a folder leads to a denied file, or to a folder that has one."""
        links = links_below(folder)
        return links is None or any(
            denial(link, self._policy, tool="Read") or self._below(link) != []
            for link in links
            if not is_inside(folder, (link,))
        )

    def _below(self, folder: str) -> list[str] | None:
        """Return the denied files below a folder; None if there are too many files to look at."""
        return denied_below(folder, self._policy)

    # Git

    def _git_shows(self, content: GitContent) -> bool:
        """Return whether git could show a denied file: of the index, or of a history that only git knows."""
        for folder in self._folders:
            top = repository_top(Path(folder))
            if top is None:
                shows = self._below(folder) != []  # `git diff` compares any folders then
            elif content.blobs:
                paths = [
                    resolve(path, place, self._policy.home) for path in content.blobs for place in (str(top), folder)
                ]
                shows = any(path is None or denial(path, self._policy, tool="Read") for path in paths)
            elif content.is_history:
                shows = self._history_shows(str(top), content)
            else:
                shows = self._index_shows(top, content)
            if shows:
                return True
        return False

    def _history_shows(self, top: str, content: GitContent) -> bool:
        """Return whether some commit could have a denied file of these names."""
        if not content.names:
            patterns = _read_patterns(self._policy)
            is_at_top = self._folders == [top]
            left_out = is_at_top and all(_leave_out(content.excluded, pattern) for pattern in patterns)
            return not left_out and bool(_folders_to_look_in(top, self._policy))
        paths = [resolve(name, folder, self._policy.home) for name in content.names for folder in self._folders]
        return any(
            path is None or (not os.path.isfile(path) and _folders_to_look_in(path, self._policy)) for path in paths
        )

    def _index_shows(self, top: Path, content: GitContent) -> bool:
        names = tracked_names(top)
        if names is None:
            return True
        chosen = [resolve(name, folder, self._policy.home) for name in content.names for folder in self._folders]
        words = [found[1] for name in content.excluded if (found := _LEFT_OUT.fullmatch(name)) is not None]
        left_out = [[resolve(word, folder, self._policy.home) for folder in self._folders] for word in words]
        for name in names:
            path = f"{top}/{os.fsdecode(name)}"
            is_chosen = not chosen or any(spec is None or is_inside(path, (spec,)) for spec in chosen)
            is_left_out = any(all(place and is_inside(path, (place,)) for place in places) for places in left_out)
            if is_chosen and not is_left_out and denial(path, self._policy, tool="Read"):
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
    bases = {pattern_folder(pattern, policy.cwd, policy.home) for pattern in _read_patterns(policy)}
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


def _read_patterns(policy: Policy) -> list[str]:
    return [rule.specifier for rule in policy.deny if rule.specifier is not None and rule.tool == "Read"]


def _leave_out(excluded: Collection[str], pattern: str) -> bool:
    """Return whether words of a git command leave out all that a rule matches, at any depth where it does."""
    if set("[\\") & set(pattern):
        return False
    if "/" not in pattern:
        return {f":(exclude,glob)**/{pattern}", f":(exclude,glob)**/{pattern}/**"} <= set(excluded)
    place = pattern.removeprefix("./").removesuffix("/**")
    return not re.match(r"[/~]|\.\./|.*[*?]", place) and f":(exclude){place}" in excluded


def _paths(word: Word, folder: str) -> list[str]:
    """Return the paths that a word may name: itself, the matches of its glob, what follows `=` or `REVISION:`."""
    value = word.value
    if not value:
        return []
    if word.glob_at >= 0:
        parts = [path for pattern in (value, *_inside_proc(value)) for path in _expand(pattern, folder)]
    elif value.startswith((":!", ":^", ":(exclude", "--exclude")):
        return []  # what is left out
    else:
        parts = [value, value.partition("=")[2]]
        parts += [value[place + 1 :] for place, letter in enumerate(value) if letter == ":"]
    return [path for part in parts if part for path in (part, *_inside_proc(part))]


def _expand(pattern: str, folder: str) -> list[str]:
    place = min((index for sign in "*?[" if (index := pattern.find(sign)) >= 0), default=-1)
    paths = glob_matches(pattern, place, folder) or [] if place >= 0 else []
    return [path for path in paths if "[" in pattern or fnmatchcase(path, pattern)]


def _inside_proc(path: str) -> list[str]:
    """Return what a path through `/proc/…/cwd`, `/proc/…/root` or a descriptor's folder may mean to another process."""
    names = path.split("/")
    if not path.startswith("/") or not {"proc", "fd"} & set(names):
        return []
    ends = ["/".join(names[place:]) for place in range(2, len(names))]
    return [*(end or "." for end in ends), *(f"/{end}" for end in ends), "."]
