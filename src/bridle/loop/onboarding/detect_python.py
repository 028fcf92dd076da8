"""Detects the test runner and the environment manager of a Python project."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from bridle.loop.onboarding.candidates import Candidate, DetectedCommands, Which, read_text

# The folders of test files, and how many of them are read to detect their test runner.
# The name of an extra, as packages may have it. It gets into a command.
_EXTRA = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_TEST_FOLDERS = (".", "tests", "test")
_TEST_FILES = 20
_CONFIGURATIONS = (
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "Pipfile",
    "requirements.txt",
    "requirements-dev.txt",
    "dev-requirements.txt",
    "requirements/dev.txt",
    "requirements/test.txt",
)


class _Environment(Struct, frozen=True):
    """How commands run, and how their environment is made."""

    prefix: str
    setup: str
    reason: str


def python(folder: Path, which: Which) -> DetectedCommands:
    """Detect the commands from configuration and test files."""
    checks = list(_checks(folder, which))
    environment = _environment(folder, which)
    is_project = any((folder / name).is_file() for name in _CONFIGURATIONS)
    setup = (Candidate(environment.setup, environment.reason),) if is_project and environment.setup else ()
    return DetectedCommands(tuple(checks), setup if checks else ())


def _checks(folder: Path, which: Which) -> Iterator[Candidate]:
    environment = _environment(folder, which)
    reason = _pytest(folder)
    if reason:
        yield Candidate(f"{environment.prefix}pytest -q", reason)
    if (folder / "tox.ini").is_file() or "[tool.tox" in read_text(folder, "pyproject.toml"):
        yield Candidate("tox", "tox is configured")
    if (folder / "noxfile.py").is_file():
        yield Candidate("nox", "there is noxfile.py")
    if (folder / "manage.py").is_file():
        yield Candidate(f"{_interpreter(environment)} manage.py test", "there is manage.py")
    if not reason and (first := next(_test_files(folder), None)):
        where = first.parent.relative_to(folder).as_posix()
        yield Candidate(f"{_interpreter(environment)} -m unittest discover -s {where}", f"there is {first.name}")


def _pytest(folder: Path) -> str | None:
    """Return the reason to use pytest, or None."""
    if (folder / "pytest.ini").is_file() or (folder / ".pytest.ini").is_file():
        return "there is pytest.ini"
    for name in _CONFIGURATIONS:
        if re.search(r"\bpytest\b", read_text(folder, name)):
            return f"{name} names pytest"
    for place in _TEST_FOLDERS:
        if (folder / place / "conftest.py").is_file():
            return f"there is {(folder / place / 'conftest.py').relative_to(folder)}"
    for path in _test_files(folder):
        text = read_text(path.parent, path.name)
        if "import pytest" in text or re.search(r"^(?:async )?def test_", text, re.MULTILINE):
            return f"{path.relative_to(folder)} is written for pytest"
    return None


def _test_files(folder: Path) -> Iterator[Path]:
    for place in _TEST_FOLDERS:
        paths = sorted(path for pattern in ("test_*.py", "*_test.py") for path in (folder / place).glob(pattern))
        yield from islice((path for path in paths if path.is_file()), _TEST_FILES)


def _environment(folder: Path, which: Which) -> _Environment:
    project = read_text(folder, "pyproject.toml")
    if (folder / "uv.lock").is_file() or "[tool.uv]" in project:
        return _Environment("uv run ", "uv sync", "uv manages its environment")
    if (folder / "poetry.lock").is_file() or "[tool.poetry]" in project:
        return _Environment("poetry run ", "poetry install", "poetry manages its environment")
    if (folder / "pdm.lock").is_file():
        return _Environment("pdm run ", "pdm install", "there is pdm.lock")
    if (folder / "Pipfile").is_file():
        return _Environment("pipenv run ", "pipenv install --dev", "there is a Pipfile")
    for name in (".venv", "venv"):
        if (folder / name / "bin/python").exists():
            requirements = _requirements(folder)
            setup = f"python3 -m venv {name} && {name}/bin/pip install {requirements}" if requirements else ""
            return _Environment(f"{name}/bin/python -m ", setup, f"there is a folder {name}")
    interpreter = "python" if which("python") else "python3"
    requirements = _requirements(folder)
    setup = f"{interpreter} -m pip install {requirements}" if requirements else ""
    return _Environment(f"{interpreter} -m ", setup, "it is a Python project")


def _requirements(folder: Path) -> str:
    """Return the arguments for pip install, with the test runner that the checks need."""
    files = [name for name in _CONFIGURATIONS if name.endswith(".txt") and (folder / name).is_file()]
    is_package = (folder / "setup.py").is_file() or "[build-system]" in read_text(folder, "pyproject.toml")
    extra = _extra_with_pytest(folder) if is_package else None
    words = [f"-r {name}" for name in files]
    if is_package:
        words.append(f"-e '.[{extra}]'" if extra else "-e .")
    has_runner = extra is not None or any(_names_pytest(read_text(folder, name)) for name in files)
    if words and not has_runner and _pytest(folder) is not None:
        words.append("pytest")
    return " ".join(words)


def _extra_with_pytest(folder: Path) -> str | None:
    """Return the first extra of pyproject.toml that installs pytest."""
    try:
        project = tomllib.loads(read_text(folder, "pyproject.toml")).get("project")
    except tomllib.TOMLDecodeError:
        return None
    extras = project.get("optional-dependencies") if isinstance(project, dict) else None
    for name, requirements in extras.items() if isinstance(extras, dict) else ():
        has_pytest = isinstance(requirements, list) and any(_names_pytest(str(one)) for one in requirements)
        if has_pytest and _EXTRA.fullmatch(name):
            return str(name)
    return None


def _names_pytest(text: str) -> bool:
    return re.search(r"^\s*pytest\b(?!-)", text, re.MULTILINE) is not None


def _interpreter(environment: _Environment) -> str:
    """Return the command that starts Python in the environment."""
    prefix = environment.prefix.strip()
    return prefix.removesuffix(" -m") if prefix.endswith("-m") else f"{prefix} python"
