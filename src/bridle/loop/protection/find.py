"""Finds what defines the checks of a plan: the files they name, and the parts of files they run. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from bridle.loop.protection.data_files import defining_words, executed_with, texts_of_readers
from bridle.loop.protection.executed_scripts import executed_scripts, is_shell_script, possible_paths
from bridle.loop.protection.findings import Findings, RepositoryFiles
from bridle.loop.protection.formats import makefile, package_json
from bridle.loop.protection.formats.inline_code import (
    decides,
    defining_files,
    imported_modules,
    strings_of_executing_code,
    words_of_code,
)
from bridle.loop.protection.imports import python_modules
from bridle.loop.protection.protected_parts import MAKE, NPM, Protected
from bridle.loop.protection.runner_settings import find_settings
from bridle.loop.protection.runner_table import (
    ALIASES,
    ALL_PACKAGES,
    FOLDER_FLAGS,
    INSTALLERS,
    INSTALLING,
    PACKAGE_FLAGS,
    RUNNERS,
    SCRIPT_LISTS,
    SCRIPT_RUNNERS,
    SHORT_SCRIPTS,
)
from bridle.loop.protection.shell_commands import Simple, candidates, is_pattern, join, module_paths, simple_commands
from bridle.loop.text.path_patterns import matches

# Scripts that run scripts that run targets; this also ends cycles.
_DEPTH = 8
# Scripts that scripts run: real ones are one or two levels deep.
_SCRIPT_DEPTH = 3
_SCRIPTS = 64
_SCRIPT_CHARACTERS = 256 * 1024
_COMMAND_CHARACTERS = 60
# Files that compilers write for make: the headers of each object.
_DEPENDENCIES = (".d", ".dep", ".deps", ".Po", ".Plo")
_OBJECTS = (".o", ".obj", ".a", ".so")
_PYTHONPATH = "PYTHONPATH="
_PROGRAM = re.compile(r"(?!-)[A-Za-z0-9._+/-]{1,200}")


def find_definitions(commands: Iterable[str], repository: RepositoryFiles) -> Protected:
    """Find all files that these commands name, and all that define what they do."""
    finder = _Finder(repository)
    for command in commands:
        finder.read_line(command, "", why=f"the check `{_short(command)}` names it")
    return finder.findings.protected()


class _Finder:
    def __init__(self, repository: RepositoryFiles) -> None:
        self.repository = repository
        self.findings = Findings()
        self._seen: set[tuple[str, str]] = set()
        self._scripts_read: set[str] = set()

    def read_line(self, line: str, folder: str, *, why: str, depth: int = _DEPTH) -> None:
        """Add what a shell line defines that runs in a folder."""
        if depth < 0 or (line, folder) in self._seen:
            return
        self._seen.add((line, folder))
        executed = executed_with(line, folder)
        texts = texts_of_readers(executed, line)
        commands = simple_commands(line, folder)
        codes = words_of_code(commands, line)
        self._read_codes(codes, why)
        for simple in strings_of_executing_code(commands):
            for word in simple.words:
                self._word(word, simple.folder, why)
        for simple in commands:
            is_text = simple in texts or simple in codes or _installs(simple)
            for word in () if is_text else defining_words(simple, executed, line):
                self._word(word, simple.folder, why)
            for position, word in enumerate(simple.words):
                self._program(word, Simple(simple.words[position + 1 :], simple.folder), why, depth)
            self._follow(simple, None, _SCRIPT_DEPTH)

    def _follow(self, simple: Simple, caller: str | None, depth: int) -> None:
        """Add the scripts that a command executes or sources, and those that these do."""
        for script in executed_scripts(simple):
            paths = possible_paths(script.word, simple.folder, caller)
            path = next((path for path in paths if self.repository.is_file(path)), None)
            if path is None or path in self._scripts_read or len(self._scripts_read) >= _SCRIPTS:
                continue
            self._scripts_read.add(path)
            if caller is not None:
                self.findings.files.setdefault(path, f"a check runs it, through {caller}")
            text = self.repository.text(path) or ""
            if depth > 0 and len(text) <= _SCRIPT_CHARACTERS and (script.is_shell or is_shell_script(path, text)):
                for command in simple_commands(text, simple.folder):
                    self._follow(command, path, depth - 1)

    def _read_codes(self, codes: Mapping[Simple, str], why: str) -> None:
        """Add the files that say what is expected, of those that inline code names."""
        for code in dict.fromkeys(codes.values()):
            inner = (simple for simple in codes if codes[simple] == code)
            names = {path for simple in inner for word in simple.words for path in self._paths(word, simple.folder)}
            found = defining_files(names, code) | self._deciding_modules(code)
            self.findings.files |= dict.fromkeys(sorted(found - {*self.findings.files}), why)

    def _deciding_modules(self, code: str) -> set[str]:
        """Return the files of the modules that code imports and that are named like a test or an expected result."""
        paths = (path for module in imported_modules(code) for path in module_paths(module))
        return {path for path in paths if decides(path) and self.repository.is_file(path)}

    def _word(self, word: str, folder: str, why: str) -> None:
        """Add a word that is a path, from the command's folder or the top."""
        for path in self._paths(word, folder):
            self.findings.files.setdefault(path, why)

    def _paths(self, word: str, folder: str) -> Iterator[str]:
        """Yield the files that a word may name."""
        for place in dict.fromkeys((folder, "")):
            for candidate in candidates(word):
                path = join(place, candidate)
                if is_pattern(path):
                    yield from (name for name in self.repository.names if matches(path, name))
                elif path and not path.startswith(("/", "../")) and self.repository.is_file(path):
                    yield path

    def _program(self, word: str, rest: Simple, why: str, depth: int) -> None:
        """Add what the arguments of a known program define."""
        name = posixpath.basename(word)
        name = ALIASES.get(name, name)
        if _PROGRAM.fullmatch(word):
            self.findings.programs.add(join(rest.folder, word) if "/" in word else word)
            self.findings.program_folders.add(rest.folder)
        self.findings.python_folders.update(python_modules.folders_on_path(name, rest))
        if word.startswith(_PYTHONPATH):
            value = word.removeprefix(_PYTHONPATH)
            self.findings.python_folders.update(python_modules.folders_of_variable(value, rest.folder))
        if name == "make":
            self._make(rest, why, depth)
        elif name in SCRIPT_RUNNERS or name in SCRIPT_LISTS:
            self._scripts(name, rest, why, depth)
        elif word == "-m" and rest.words:
            self._module(rest.words[0], rest.folder, why)
        elif name == "unittest":
            for test in rest.words:
                self._test_name(test, rest.folder, why)
        if name in RUNNERS:
            self.findings.definitions |= dict.fromkeys(RUNNERS[name].definitions, name)
            find_settings(name, rest, self.repository, self.findings)

    # Makefiles

    def _make(self, rest: Simple, why: str, depth: int) -> None:
        folder = _folder_of(rest)
        words = [word for word in rest.words if not word.startswith("-") and "=" not in word]
        files = _values(rest.words, {"-f", "--file", "--makefile"})
        paths = [join(folder, file) for file in files] or self._makefiles(folder)
        texts = self._included(paths, folder)
        if not texts:
            return
        skipped = {*files, *_values(rest.words, FOLDER_FLAGS | {"-j", "-I", "-o", "-W"})}
        goals = [word for word in words if word not in skipped]
        known = [goal for goal in goals if any(makefile.has_goal(text, goal) for text in texts.values())]
        if goals and not known:
            return
        used = makefile.uses(texts.values(), known)
        for path in texts:
            self.findings.files.pop(path, None)  # `make -f FILE` names it, but only a part of it defines the check
            self.findings.part(path, MAKE, used.names)
        if not files:
            for name in makefile.FILE_NAMES[: _first(makefile.FILE_NAMES, paths)]:
                self.findings.absent[join(folder, name)] = f"make would read it instead of {paths[0]}"
        for target in used.unmade:
            self.findings.absent[join(folder, target)] = f"make would not run the recipe of {target} any more"
        self.findings.made.update(join(folder, target) for target in used.made)
        self.findings.made.update(self._made_by_rule(used.names, folder))
        self._missing_includes(texts, folder)
        for recipe in used.recipes:
            self.read_line(recipe, folder, why=why, depth=depth - 1)

    def _makefiles(self, folder: str) -> list[str]:
        paths = (join(folder, name) for name in makefile.FILE_NAMES)
        return [path for path in paths if self.repository.is_file(path)][:1]

    def _included(self, paths: Sequence[str], folder: str) -> dict[str, str]:
        """Return the texts of these files and of those that they include."""
        texts: dict[str, str] = {}
        pending = list(paths)
        while pending:
            path = pending.pop(0)
            text = self.repository.text(path) if path not in texts else None
            if text is not None:
                texts[path] = text
                includes = [join(folder, include) for include in makefile.uses([text], ()).includes]
                pending += [name for include in includes for name in self._matching(include)]
        return texts

    def _made_by_rule(self, names: Iterable[str], folder: str) -> Iterator[str]:
        """Yield the files that a rule of make itself, or one for a pattern, makes from a source of their name."""
        stems = {posixpath.splitext(name)[0] for name in self.repository.names}
        for name in names:
            path = join(folder, name)
            is_built = path.endswith(_OBJECTS) or posixpath.splitext(path)[0] in stems
            if makefile.is_file_name(name) and is_built and path not in self.repository.names:
                yield path

    def _missing_includes(self, texts: Mapping[str, str], folder: str) -> None:
        """Forbid files that a makefile would include, unless make or a compiler makes them."""
        for path, text in texts.items():
            for include in makefile.uses([text], ()).includes:
                name, is_made = join(folder, include), any(makefile.has_goal(one, include) for one in texts.values())
                is_outside = name.startswith(("/", "../")) or not name
                if name not in texts and not is_made and not is_outside and not name.endswith(_DEPENDENCIES):
                    self.findings.absent[name] = f"{path} would include it"

    def _matching(self, path: str) -> list[str]:
        return [name for name in self.repository.names if matches(path, name)] if is_pattern(path) else [path]

    # Scripts of package.json

    def _scripts(self, program: str, rest: Simple, why: str, depth: int) -> None:
        folder = _folder_of(rest)
        chosen = _values(rest.words, PACKAGE_FLAGS)
        skipped = {*chosen, *_values(rest.words, FOLDER_FLAGS)}
        words = [word for word in rest.words if not word.startswith("-") and word not in skipped]
        if program in SCRIPT_LISTS:
            names = words
        elif words and words[0] in SCRIPT_RUNNERS[program]:
            names = words[1:2]
        elif words:
            names = [SHORT_SCRIPTS.get(words[0], words[0])]
        else:
            names = []
        is_everywhere = bool(chosen) or program in SCRIPT_LISTS or bool(ALL_PACKAGES & set(rest.words))
        for path in self._packages(folder, is_everywhere=is_everywhere):
            for name in names:
                self._script(path, name, why, depth)

    def _packages(self, folder: str, *, is_everywhere: bool) -> list[str]:
        own = join(folder, package_json.FILE_NAME)
        others = [name for name in self.repository.names if posixpath.basename(name) == package_json.FILE_NAME]
        paths = {own: None} | (dict.fromkeys(others) if is_everywhere else {})
        return [path for path in paths if self.repository.is_file(path)]

    def _script(self, path: str, name: str, why: str, depth: int) -> None:
        scripts = package_json.scripts(self.repository.text(path) or "")
        for script in [key for key in scripts if key == name or (is_pattern(name) and matches(name, key))]:
            self.findings.part(path, NPM, package_json.script_names(script))
            for step in (script, f"pre{script}", f"post{script}"):
                if step in scripts:
                    self.read_line(scripts[step], posixpath.dirname(path), why=why, depth=depth - 1)

    # Python

    def _module(self, name: str, folder: str, why: str) -> None:
        """Add the file of `python -m NAME`, or else the files that would replace the module."""
        paths = [join(folder, path) for path in module_paths(name)]
        own = [path for path in paths if self.repository.is_file(path)]
        self.findings.files |= dict.fromkeys(own[:1], why)
        if not own:
            first = name.split(".")[0]
            for path in (f"{first}.py", f"{first}/__init__.py", f"{first}/__main__.py"):
                self.findings.absent[join(folder, path)] = f"python would run it instead of the module {first}"

    def _test_name(self, word: str, folder: str, why: str) -> None:
        own = [path for candidate in module_paths(word) if self.repository.is_file(path := join(folder, candidate))]
        self.findings.files |= dict.fromkeys(own[:1], why)


def _installs(simple: Simple) -> bool:
    """Return whether a command installs what files list. Adding to such a list is ordinary work."""
    return any(word in INSTALLING for word in simple.words) and any(
        posixpath.basename(word) in INSTALLERS for word in simple.words
    )


def _folder_of(rest: Simple) -> str:
    folders = _values(rest.words, FOLDER_FLAGS)
    return join(rest.folder, folders[0]) if folders else rest.folder


def _values(words: Sequence[str], flags: Collection[str]) -> list[str]:
    """Return the values of these flags: `-f X`, `-fX`, `--file X`, `--file=X`."""
    values = []
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if word in flags and position + 1 < len(words):
            values.append(words[position + 1])
        elif equals and name in flags:
            values.append(value)
        elif len(word) > 2 and word[:2] in flags and not word.startswith("--"):
            values.append(word[2:])
    return values


def _first(names: Sequence[str], paths: Sequence[str]) -> int:
    return names.index(posixpath.basename(paths[0])) if paths else 0


def _short(command: str) -> str:
    plain = " ".join(command.split())
    return plain if len(plain) <= _COMMAND_CHARACTERS else f"{plain[:_COMMAND_CHARACTERS]}…"
