"""Settings of the test runners and linters that a check uses: protected where they are, kept out elsewhere. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from bridle.loop.protection.findings import Findings, RepositoryFiles
from bridle.loop.protection.formats import conftest, package_json, toml_and_ini
from bridle.loop.protection.protected_parts import CLOSED, CONFTEST, FREE, INI, NPM, TOML
from bridle.loop.protection.runner_table import PYTEST, RUNNERS, Runner
from bridle.loop.protection.shell_commands import Simple, candidates, is_pattern, join
from bridle.loop.text.path_patterns import matches


def find_settings(name: str, rest: Simple, look: RepositoryFiles, found: Findings) -> None:
    """Take in what a runner reads that is called with these words."""
    runner = RUNNERS[name]
    named = [join(rest.folder, one) for word in rest.words if not word.startswith("-") for one in candidates(word)]
    places = [path for path in named if look.is_folder(path)]
    files = [posixpath.dirname(path) for path in named if look.is_file(path)]
    folders = list(dict.fromkeys(above for place in (rest.folder, *places, *files) for above in _upwards(place)))
    with_settings = [folder for folder in folders if _take_in(name, runner, folder, look, found)]
    if with_settings:
        _keep_free(name, runner, folders, look, found)
    elif name == PYTEST:
        _watch_new(runner, rest.folder, found)
    if name == PYTEST:
        _conftests(folders, places or ([] if files else [rest.folder]), look, found)


def _take_in(name: str, runner: Runner, folder: str, look: RepositoryFiles, found: Findings) -> bool:
    """Protect a runner's settings in a folder; whether there are any."""
    own = [path for pattern in runner.files for path in _in_folder(folder, pattern, look)]
    for path in own:
        found.files.setdefault(path, f"it holds the settings of {name}")
    shared = [(path, kind, key) for path, kind, key in _shared(runner, folder) if _has(path, kind, key, look)]
    for path, kind, key in shared:
        found.part(path, kind, [key])
    package = join(folder, package_json.FILE_NAME)
    has_key = runner.package_key is not None and runner.package_key in package_json.keys(look.text(package) or "")
    if has_key:
        found.part(package, NPM, [str(runner.package_key)])
    return bool(own or shared or has_key)


def _keep_free(name: str, runner: Runner, folders: Sequence[str], look: RepositoryFiles, found: Findings) -> None:
    """Where a runner has settings, no others may stand before them."""
    for folder in folders:
        for pattern in runner.files:
            if not is_pattern(pattern) and not look.is_file(path := join(folder, pattern)):
                found.absent[path] = f"{name} would read its settings from there"
        for path, kind, key in _shared(runner, folder):
            if not _has(path, kind, key, look):
                found.part(path, kind, [key], state=CLOSED)


def _watch_new(runner: Runner, folder: str, found: Findings) -> None:
    """Where it has none, an agent may write some, but none that chooses what is tested."""
    for file in runner.files:
        found.part(join(folder, file), INI if file.endswith(".ini") else TOML, [PYTEST], state=FREE)
    for path, kind, key in _shared(runner, folder):
        found.part(path, kind, [key], state=FREE)


def _conftests(folders: Sequence[str], below: Sequence[str], look: RepositoryFiles, found: Findings) -> None:
    """Those of the folders on the way, and of all folders that are tested."""
    found.conftest_folders.update(below)
    on_the_way = [join(folder, conftest.FILE_NAME) for folder in folders]
    inside = [
        name
        for name in look.names
        if posixpath.basename(name) == conftest.FILE_NAME
        and any(not folder or name.startswith(f"{folder}/") for folder in below)
    ]
    for path in (*on_the_way, *inside):
        found.part(path, CONFTEST)


def _shared(runner: Runner, folder: str) -> Iterator[tuple[str, str, str]]:
    """Files that hold the settings of several programs: path, kind, and where in it this one's are."""
    if runner.toml:
        yield join(folder, "pyproject.toml"), TOML, runner.toml
    for file, section in runner.ini:
        yield join(folder, file), INI, section


def _has(path: str, kind: str, key: str, look: RepositoryFiles) -> bool:
    text = look.text(path)
    load = toml_and_ini.load_toml if kind == TOML else toml_and_ini.load_ini
    return text is not None and toml_and_ini.has(load, text, (key,))


def _in_folder(folder: str, pattern: str, look: RepositoryFiles) -> list[str]:
    if not is_pattern(pattern):
        path = join(folder, pattern)
        return [path] if look.is_file(path) else []
    return [
        name for name in look.names if posixpath.dirname(name) == folder and matches(pattern, posixpath.basename(name))
    ]


def _upwards(folder: str) -> Iterator[str]:
    """The folder and those above it, up to the top."""
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""
