"""What defines the checks of a plan: the files that they name, and of others the parts that say what they run. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from bridle.loop.parts import conftest, makefile, package_json, tables
from bridle.loop.patterns import matches
from bridle.loop.protected import CONFTEST, INI, MAKE, NPM, TOML, Part, Protected
from bridle.loop.runners import (
    ALIASES,
    ALL_PACKAGES,
    FOLDER_FLAGS,
    PACKAGE_FLAGS,
    PYTEST,
    RUNNERS,
    SCRIPT_LISTS,
    SCRIPT_RUNNERS,
    SHORT_SCRIPTS,
    Runner,
)
from bridle.loop.shell_words import Simple, candidates, is_pattern, join, module_paths, simple_commands

# A script that runs a script that runs a target; a circle ends here, too.
_DEPTH = 8
_COMMAND_CHARACTERS = 60


@dataclass(frozen=True)
class Look:
    """The files of a repository, as they were."""

    names: Collection[str]
    """All that are in it or would be."""
    is_file: Callable[[str], bool]
    """Whether there is such a file, an ignored one included."""
    text: Callable[[str], str | None]
    """What is in it; None where it is not there or no text."""

    def is_folder(self, path: str) -> bool:
        """Whether files are in a folder of that name."""
        return path == "" or any(name.startswith(f"{path}/") for name in self.names)


def definitions(commands: Iterable[str], look: Look) -> Protected:
    """Everything that these commands name, and everything that says what they do."""
    found = _Finder(look)
    for command in commands:
        found.line(command, "", why=f"the check `{_short(command)}` names it")
    return found.protected()


@dataclass
class _Finder:
    look: Look
    files: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    names: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    optional: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    seen: set[tuple[str, str]] = field(default_factory=set)

    def protected(self) -> Protected:
        parts = [Part(path, kind, tuple(sorted(names))) for (path, kind), names in self.names.items()]
        parts += [
            Part(path, kind, tuple(sorted(names)), is_optional=True) for (path, kind), names in self.optional.items()
        ]
        whole = [part for part in parts if part.path not in self.files]
        return Protected(
            dict(sorted(self.files.items())),
            tuple(sorted(whole, key=lambda part: (part.path, part.kind, part.is_optional))),
            dict(sorted(self.absent.items())),
            tuple(sorted(self.folders)),
        )

    def line(self, line: str, folder: str, *, why: str, depth: int = _DEPTH) -> None:
        """Take in a shell line that runs in a folder."""
        if depth < 0 or (line, folder) in self.seen:
            return
        self.seen.add((line, folder))
        for simple in simple_commands(line, folder):
            for word in simple.words:
                self._word(word, simple.folder, why)
            for position, word in enumerate(simple.words):
                self._program(word, Simple(simple.words[position + 1 :], simple.folder), why, depth)

    def _word(self, word: str, folder: str, why: str) -> None:
        """A word that is a path, in the folder of its command or at the top."""
        for place in dict.fromkeys((folder, "")):
            for one in candidates(word):
                path = join(place, one)
                if is_pattern(path):
                    self.files |= {name: why for name in self.look.names if matches(path, name)}
                elif path and not path.startswith(("/", "../")) and self.look.is_file(path):
                    self.files.setdefault(path, why)

    def _program(self, word: str, rest: Simple, why: str, depth: int) -> None:
        """What follows a word that is a program we know."""
        name = posixpath.basename(word)
        name = ALIASES.get(name, name)
        if name == "make":
            self._make(rest, why, depth)
        elif name in SCRIPT_RUNNERS or name in SCRIPT_LISTS:
            self._scripts(name, rest, why, depth)
        elif word == "-m" and rest.words:
            self._module(rest.words[0], rest.folder, why)
        elif name == "unittest":
            for one in rest.words:
                self._test_name(one, rest.folder, why)
        if name in RUNNERS:
            self._runner(name, RUNNERS[name], rest)

    # Makefiles

    def _make(self, rest: Simple, why: str, depth: int) -> None:
        folder = _folder_of(rest)
        words = [word for word in rest.words if not word.startswith("-") and "=" not in word]
        given = _values(rest.words, {"-f", "--file", "--makefile"})
        paths = [join(folder, one) for one in given] or self._makefiles(folder)
        texts = self._included(paths, folder)
        if not texts:
            return
        skipped = {*given, *_values(rest.words, FOLDER_FLAGS | {"-j", "-I", "-o", "-W"})}
        goals = [word for word in words if word not in skipped]
        known = [goal for goal in goals if any(makefile.has_goal(text, goal) for text in texts.values())]
        if goals and not known:
            return
        used = makefile.uses(texts.values(), known)
        for path in texts:
            self.files.pop(path, None)  # `make -f FILE` names it, but only a part of it is the check
            self.names.setdefault((path, MAKE), set()).update(used.names)
        if not given:
            for name in makefile.FILE_NAMES[: _first(makefile.FILE_NAMES, paths)]:
                self.absent[join(folder, name)] = f"make would read it in place of {paths[0]}"
        for recipe in used.recipes:
            self.line(recipe, folder, why=why, depth=depth - 1)

    def _makefiles(self, folder: str) -> list[str]:
        found = (join(folder, name) for name in makefile.FILE_NAMES)
        return [path for path in found if self.look.is_file(path)][:1]

    def _included(self, paths: Sequence[str], folder: str) -> dict[str, str]:
        """The texts of these files and of those that they include."""
        texts: dict[str, str] = {}
        wanted = list(paths)
        while wanted:
            path = wanted.pop(0)
            text = self.look.text(path) if path not in texts else None
            if text is not None:
                texts[path] = text
                includes = [join(folder, one) for one in makefile.uses([text], ()).includes]
                wanted += [name for one in includes for name in self._matching(one)]
        return texts

    def _matching(self, path: str) -> list[str]:
        return [name for name in self.look.names if matches(path, name)] if is_pattern(path) else [path]

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
        others = [name for name in self.look.names if posixpath.basename(name) == package_json.FILE_NAME]
        found = {own: None} | (dict.fromkeys(others) if is_everywhere else {})
        return [path for path in found if self.look.is_file(path)]

    def _script(self, path: str, name: str, why: str, depth: int) -> None:
        scripts = package_json.scripts(self.look.text(path) or "")
        for found in [one for one in scripts if one == name or (is_pattern(name) and matches(name, one))]:
            self.names.setdefault((path, NPM), set()).update(package_json.script_names(found))
            for one in (found, f"pre{found}", f"post{found}"):
                if one in scripts:
                    self.line(scripts[one], posixpath.dirname(path), why=why, depth=depth - 1)

    # Python

    def _module(self, name: str, folder: str, why: str) -> None:
        """`python -m NAME`: its file, or else the files that would be taken for it."""
        paths = [join(folder, path) for path in module_paths(name)]
        own = [path for path in paths if self.look.is_file(path)]
        self.files |= dict.fromkeys(own[:1], why)
        if not own:
            first = name.split(".")[0]
            for path in (f"{first}.py", f"{first}/__init__.py", f"{first}/__main__.py"):
                self.absent[join(folder, path)] = f"python would run it in place of the module {first}"

    def _test_name(self, word: str, folder: str, why: str) -> None:
        own = [path for one in module_paths(word) if self.look.is_file(path := join(folder, one))]
        self.files |= dict.fromkeys(own[:1], why)

    # Settings of runners

    def _runner(self, name: str, runner: Runner, rest: Simple) -> None:
        named = [join(rest.folder, one) for word in rest.words if not word.startswith("-") for one in candidates(word)]
        places = [path for path in named if self.look.is_folder(path)]
        files = [posixpath.dirname(path) for path in named if self.look.is_file(path)]
        folders = list(dict.fromkeys(above for place in (rest.folder, *places, *files) for above in _upwards(place)))
        has_settings = False
        for folder in folders:
            has_settings |= self._settings_in(name, runner, folder)
        if has_settings:
            self._keep_free(name, runner, folders)
        elif name == PYTEST:
            self._watch_new_settings(runner, rest.folder)
        if name == PYTEST:
            self._conftests(folders, [*places] or ([] if files else [rest.folder]))

    def _settings_in(self, name: str, runner: Runner, folder: str) -> bool:
        """Protect a runner's settings in a folder; whether there are any."""
        found = False
        for pattern in runner.files:
            for path in self._in_folder(folder, pattern):
                self.files.setdefault(path, f"it holds the settings of {name}")
                found = True
        for path, kind, key, load in self._shared_files(runner, folder):
            text = self.look.text(path)
            if text is not None and tables.has(load, text, (key,)):
                self.names.setdefault((path, kind), set()).add(key)
                found = True
        package = join(folder, package_json.FILE_NAME)
        if runner.package_key and runner.package_key in package_json.keys(self.look.text(package) or ""):
            self.names.setdefault((package, NPM), set()).add(runner.package_key)
            found = True
        return found

    def _shared_files(self, runner: Runner, folder: str) -> Iterator[tuple[str, str, str, tables.Load]]:
        if runner.toml:
            yield join(folder, "pyproject.toml"), TOML, runner.toml, tables.load_toml
        for file, section in runner.ini:
            yield join(folder, file), INI, section, tables.load_ini

    def _in_folder(self, folder: str, pattern: str) -> list[str]:
        if is_pattern(pattern):
            return [
                name
                for name in self.look.names
                if posixpath.dirname(name) == folder and matches(pattern, name[len(folder) :].lstrip("/"))
            ]
        path = join(folder, pattern)
        return [path] if self.look.is_file(path) else []

    def _keep_free(self, name: str, runner: Runner, folders: Sequence[str]) -> None:
        """Where a runner has settings, no other file may stand before them."""
        why = f"{name} would read its settings from there"
        for folder in folders:
            for pattern in runner.files:
                if not is_pattern(pattern) and not self.look.is_file(path := join(folder, pattern)):
                    self.absent[path] = why
            for path, kind, key, _load in self._shared_files(runner, folder):
                if key not in self.names.get((path, kind), ()):
                    self.names.setdefault((path, kind), set()).add(key)

    def _watch_new_settings(self, runner: Runner, folder: str) -> None:
        """Where it has none, an agent may write some, but none that chooses what is tested."""
        for pattern in runner.files:
            if pattern.endswith(".ini"):
                self.optional.setdefault((join(folder, pattern), INI), set()).add("pytest")
            else:
                self.optional.setdefault((join(folder, pattern), TOML), set()).add("pytest")
        for path, kind, key, _load in self._shared_files(runner, folder):
            self.optional.setdefault((path, kind), set()).add(key)

    def _conftests(self, folders: Sequence[str], below: Sequence[str]) -> None:
        """Those of the folders on the way, and of all folders that are tested."""
        self.folders.update(below)
        on_the_way = [join(folder, conftest.FILE_NAME) for folder in folders]
        inside = [
            name
            for name in self.look.names
            if posixpath.basename(name) == conftest.FILE_NAME and any(_is_below(name, folder) for folder in below)
        ]
        for path in dict.fromkeys([*on_the_way, *inside]):
            self.names.setdefault((path, CONFTEST), set())


def _folder_of(rest: Simple) -> str:
    given = _values(rest.words, FOLDER_FLAGS)
    return join(rest.folder, next(iter(given))) if given else rest.folder


def _values(words: Sequence[str], flags: Collection[str]) -> list[str]:
    """What was given for these flags: `-f X`, `-fX`, `--file X`, `--file=X`."""
    found = []
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if word in flags and position + 1 < len(words):
            found.append(words[position + 1])
        elif equals and name in flags:
            found.append(value)
        elif len(word) > 2 and word[:2] in flags and not word.startswith("--"):
            found.append(word[2:])
    return found


def _upwards(folder: str) -> Iterator[str]:
    """The folder and those above it, up to the top."""
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def _is_below(name: str, folder: str) -> bool:
    return folder == "" or name.startswith(f"{folder}/")


def _first(names: Sequence[str], paths: Sequence[str]) -> int:
    return names.index(posixpath.basename(paths[0])) if paths else 0


def _short(command: str) -> str:
    plain = " ".join(command.split())
    return plain if len(plain) <= _COMMAND_CHARACTERS else f"{plain[:_COMMAND_CHARACTERS]}…"
