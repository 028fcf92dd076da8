"""Settings of the test runners and linters that a check uses: protected where they exist, else forbidden. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from bridle.loop.protection.findings import Findings, RepositoryFiles
from bridle.loop.protection.formats import conftest, package_json, toml_and_ini
from bridle.loop.protection.protected_parts import CLOSED, CONFTEST, FREE, INI, NPM, TOML
from bridle.loop.protection.runner_table import PYTEST, RUNNERS, Runner
from bridle.loop.protection.shell_commands import Simple, candidates, is_pattern, join
from bridle.loop.text.path_patterns import matches


def find_settings(name: str, rest: Simple, repository: RepositoryFiles, findings: Findings) -> None:
    """Add the settings that a runner reads when it is called with these arguments."""
    runner = RUNNERS[name]
    named = [join(rest.folder, path) for word in rest.words if not word.startswith("-") for path in candidates(word)]
    places = [path for path in named if repository.is_folder(path)]
    files = [posixpath.dirname(path) for path in named if repository.is_file(path)]
    folders = list(dict.fromkeys(above for place in (rest.folder, *places, *files) for above in _upwards(place)))
    for folder in folders:
        _close(name, runner, folder, repository, findings)
    with_settings = [folder for folder in folders if _protect(name, runner, folder, repository, findings)]
    if with_settings:
        _forbid_others(name, runner, folders, repository, findings)
    else:
        _restrict_new(name, runner, rest.folder, findings)
    if name == PYTEST:
        _conftests(folders, places or ([] if files else [rest.folder]), repository, findings)


def _close(name: str, runner: Runner, folder: str, repository: RepositoryFiles, findings: Findings) -> None:
    """Protect the files with which a runner would run something else, and forbid new ones."""
    for file in runner.closed:
        path = join(folder, file)
        if repository.is_file(path):
            findings.files.setdefault(path, f"it decides what {name} runs")
        else:
            findings.absent[path] = f"it would decide what {name} runs"


def _protect(name: str, runner: Runner, folder: str, repository: RepositoryFiles, findings: Findings) -> bool:
    """Protect a runner's settings in a folder; return whether there are any."""
    own = [path for pattern in runner.files for path in _in_folder(folder, pattern, repository)]
    for path in own:
        findings.files.setdefault(path, f"it has the settings of {name}")
    shared = [(path, kind, key) for path, kind, key in _shared(runner, folder) if _has(path, kind, key, repository)]
    for path, kind, key in shared:
        findings.part(path, kind, [key])
    package = join(folder, package_json.FILE_NAME)
    has_key = runner.package_key is not None and runner.package_key in package_json.keys(repository.text(package) or "")
    if has_key:
        findings.part(package, NPM, [str(runner.package_key)])
    return bool(own or shared or has_key)


def _forbid_others(
    name: str, runner: Runner, folders: Sequence[str], repository: RepositoryFiles, findings: Findings
) -> None:
    """Forbid settings that would override those that exist."""
    for folder in folders:
        for pattern in runner.files:
            if not repository.is_file(path := join(folder, pattern)):
                findings.absent[path] = f"{name} would read its settings from there"
        package = join(folder, package_json.FILE_NAME)
        keys = package_json.keys(repository.text(package) or "")
        if runner.package_key is not None and repository.is_file(package) and runner.package_key not in keys:
            findings.part(package, NPM, [runner.package_key], state=CLOSED)
        for path, kind, key in _shared(runner, folder):
            if not _has(path, kind, key, repository):
                findings.part(path, kind, [key], state=CLOSED)


def _restrict_new(name: str, runner: Runner, folder: str, findings: Findings) -> None:
    """Allow new settings, but none that choose what is tested; report those in files of their own."""
    for file in runner.files:
        if name == PYTEST:
            findings.part(join(folder, file), INI if file.endswith(".ini") else TOML, [PYTEST], state=FREE)
        else:
            findings.reviewed[join(folder, file)] = f"{name} reads its settings from there"
    for path, kind, key in _shared(runner, folder):
        findings.part(path, kind, [key], state=FREE)


def _conftests(folders: Sequence[str], below: Sequence[str], repository: RepositoryFiles, findings: Findings) -> None:
    """Protect the conftest.py files of the parent folders and of all tested folders."""
    findings.conftest_folders.update(below)
    in_parents = [join(folder, conftest.FILE_NAME) for folder in folders]
    inside = [
        name
        for name in repository.names
        if posixpath.basename(name) == conftest.FILE_NAME
        and any(not folder or name.startswith(f"{folder}/") for folder in below)
    ]
    for path in (*in_parents, *inside):
        findings.part(path, CONFTEST)


def _shared(runner: Runner, folder: str) -> Iterator[tuple[str, str, str]]:
    """Yield the shared files with the runner's settings: path, kind, and table or section."""
    if runner.toml:
        yield join(folder, "pyproject.toml"), TOML, runner.toml
    for file, section in runner.ini:
        yield join(folder, file), INI, section


def _has(path: str, kind: str, key: str, repository: RepositoryFiles) -> bool:
    text = repository.text(path)
    load = toml_and_ini.load_toml if kind == TOML else toml_and_ini.load_ini
    return text is not None and toml_and_ini.has(load, text, (key,))


def _in_folder(folder: str, pattern: str, repository: RepositoryFiles) -> list[str]:
    if not is_pattern(pattern):
        path = join(folder, pattern)
        return [path] if repository.is_file(path) else []
    place, ending = posixpath.split(join(folder, pattern))
    return [
        name
        for name in repository.names
        if posixpath.dirname(name) == place and matches(ending, posixpath.basename(name))
    ]


def _upwards(folder: str) -> Iterator[str]:
    """Yield the folder and its parents up to the top."""
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""
