"""How a repository is tested is found from its files; the likeliest command whose program is here comes first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.loop.onboarding.detect import detect


def everything(program: str) -> str | None:
    return f"/bin/{program}"


def laid_out(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        else:
            path.write_text(text, encoding="utf-8")
    return folder


def package(**fields: Any) -> str:
    return json.dumps({"name": "x", **fields})


PYTEST = "def test_it():\n    pass\n"
UNITTEST = "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self): pass\n"
JEST = package(scripts={"test": "jest"})


@pytest.mark.parametrize(
    ("files", "check", "setup"),
    [
        ({}, None, None),
        ({"README.md": "make test"}, None, None),
        # make and its like
        ({"Makefile": ".PHONY: test\ntest: build\n\ttrue\n"}, "make test", None),
        ({"Makefile": "build test lint:\n\ttrue\nsetup:\n\ttrue\ninstall:\n\ttrue\n"}, "make test", "make setup"),
        ({"Makefile": "check::\n\ttrue\n"}, "make check", None),
        ({"GNUmakefile": "tests:\n", "Makefile": "test:\n"}, "make tests", None),
        ({"Makefile": "test := pytest\n\ttest: no\nfoo: test\n"}, None, None),
        ({"Makefile": "all:\n", "pytest.ini": ""}, "python -m pytest -q", None),
        ({"justfile": "set shell := ['sh']\ntest filter='': build\n  true\n"}, "just test", None),
        ({"Taskfile.yml": "version: 3\ntasks:\n  build:\n    cmds: [x]\n  test:\n    cmds: [y]\n"}, "task test", None),
        # Python
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python -m pytest -q", None),
        (
            {"pyproject.toml": "[build-system]\n[dependency-groups]\ndev = ['pytest']\n"},
            "python -m pytest -q",
            "python -m pip install -e . pytest",
        ),
        ({"pyproject.toml": "pytest", "uv.lock": ""}, "uv run pytest -q", "uv sync"),
        ({"pyproject.toml": "[tool.poetry]\npytest = '*'\n"}, "poetry run pytest -q", "poetry install"),
        ({"pyproject.toml": "pytest", "pdm.lock": ""}, "pdm run pytest -q", "pdm install"),
        ({"Pipfile": "pytest = '*'\n"}, "pipenv run pytest -q", "pipenv install --dev"),
        (
            {"requirements.txt": "flask\npytest==8\n"},
            "python -m pytest -q",
            "python -m pip install -r requirements.txt",
        ),
        ({"setup.cfg": "[tool:pytest]\n"}, "python -m pytest -q", None),
        ({"conftest.py": ""}, "python -m pytest -q", None),
        ({"tests/test_a.py": PYTEST}, "python -m pytest -q", None),
        ({"tests/test_a.py": UNITTEST}, "python -m unittest discover -s tests", None),
        ({"test_a.py": UNITTEST}, "python -m unittest discover -s .", None),
        ({"tests/test_a.py": UNITTEST, "uv.lock": ""}, "uv run python -m unittest discover -s tests", None),
        (
            {"manage.py": "", "requirements.txt": "django"},
            "python manage.py test",
            "python -m pip install -r requirements.txt",
        ),
        ({"tox.ini": "[tox]\n"}, "tox", None),
        ({"tox.ini": "commands = pytest\n"}, "python -m pytest -q", None),
        ({"noxfile.py": ""}, "nox", None),
        (
            {"requirements.txt": "pytest", ".venv/bin/python": ""},
            ".venv/bin/python -m pytest -q",
            "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
        ),
        (
            {"pyproject.toml": "[build-system]\n[tool.pytest.ini_options]\n", ".venv/bin/python": ""},
            ".venv/bin/python -m pytest -q",
            "python3 -m venv .venv && .venv/bin/pip install -e . pytest",
        ),
        (
            {"pyproject.toml": "[build-system]\n[project.optional-dependencies]\ndev = ['ruff', 'pytest>=8']\n"},
            "python -m pytest -q",
            "python -m pip install -e '.[dev]'",
        ),
        (
            {
                "requirements.txt": "flask\n",
                "pyproject.toml": "[project.optional-dependencies]\ndev = ['pytest']\n",
                "tests/test_a.py": PYTEST,
            },
            "python -m pytest -q",
            "python -m pip install -r requirements.txt pytest",
        ),
        (
            {"pyproject.toml": "[build-system]\n[project.optional-dependencies]\n\"'; rm x; '\" = ['pytest']\n"},
            "python -m pytest -q",
            "python -m pip install -e . pytest",
        ),
        (
            {"requirements.txt": "flask\n", "tests/test_a.py": PYTEST},
            "python -m pytest -q",
            "python -m pip install -r requirements.txt pytest",
        ),
        # JavaScript
        ({"package.json": JEST}, "npm test", "npm install"),
        ({"package.json": JEST, "package-lock.json": ""}, "npm test", "npm ci"),
        ({"package.json": JEST, "pnpm-lock.yaml": ""}, "pnpm test", "pnpm install --frozen-lockfile"),
        ({"package.json": JEST, "yarn.lock": ""}, "yarn test", "yarn install --frozen-lockfile"),
        ({"package.json": JEST, "yarn.lock": "", ".yarnrc.yml": ""}, "yarn test", "yarn install --immutable"),
        ({"package.json": JEST, "bun.lockb": ""}, "bun run test", "bun install --frozen-lockfile"),
        (
            {"package.json": package(scripts={"test": "jest"}, packageManager="pnpm@9.1.0"), "package-lock.json": ""},
            "pnpm test",
            "pnpm install",
        ),
        ({"package.json": package(scripts={"test": 'echo "Error: no test specified" && exit 1'})}, None, None),
        (
            {"package.json": package(scripts={"test": "jest --watch", "test:ci": "jest --ci"})},
            "npm run test:ci",
            "npm install",
        ),
        ({"package.json": package(scripts={"test": "jest --watchAll=false"})}, "npm test", "npm install"),
        ({"package.json": package(scripts={"test": "react-scripts test"})}, "CI=true npm test", "npm install"),
        ({"package.json": package(scripts={"test": "ng test"})}, "npm test -- --watch=false", "npm install"),
        ({"package.json": package(devDependencies={"vitest": "1"})}, "npx vitest run", "npm install"),
        ({"package.json": package(scripts=["test"], devDependencies=3)}, None, None),
        ({"package.json": "[]"}, None, None),
        ({"package.json": "{"}, None, None),
        # others
        ({"Cargo.toml": ""}, "cargo test", "cargo fetch"),
        ({"go.mod": ""}, "go test ./...", "go mod download"),
        ({"Gemfile": "", "spec/": ""}, "bundle exec rspec", "bundle install"),
        ({"Gemfile": "", "Rakefile": "Rake::TestTask.new"}, "bundle exec rake test", "bundle install"),
        ({"Rakefile": "task :test do\nend"}, "rake test", None),
        ({"Gemfile": "", "bin/rails": "", "test/": ""}, "bin/rails test", "bundle install"),
        ({"pom.xml": "", "mvnw": ""}, "./mvnw -q test", None),
        ({"build.gradle.kts": ""}, "gradle test", None),
        ({"mix.exs": ""}, "mix test", "mix deps.get"),
        ({"App.sln": ""}, "dotnet test", "dotnet restore"),
        ({"composer.json": '{"scripts": {"lint": "x", "test": "phpunit"}}'}, "composer test", None),
        ({"phpunit.xml.dist": ""}, "vendor/bin/phpunit", "composer install"),
        ({"Package.swift": ""}, "swift test", None),
        # several at once: what a person has named goes before what a kind of project usually does
        ({"Makefile": "test:\n", "package.json": JEST, "go.mod": ""}, "make test", "npm install"),
    ],
)
def test_the_command_is_found(tmp_path: Path, files: dict[str, str], check: str | None, setup: str | None) -> None:
    result = detect(laid_out(tmp_path, files), everything)
    assert (result.check.command if result.check else None) == check
    assert (result.setup[0].command if result.setup else None) == setup
    assert all(item.reason for item in result.checks + result.setup)


def test_all_candidates_have_a_reason(tmp_path: Path) -> None:
    laid_out(tmp_path, {"Makefile": "test:\ncheck:\n", "package.json": JEST, "go.mod": "", "pytest.ini": ""})
    assert [(item.command, item.reason) for item in detect(tmp_path, everything).checks] == [
        ("make test", "Makefile has a target `test`"),
        ("make check", "Makefile has a target `check`"),
        ("python -m pytest -q", "there is pytest.ini"),
        ("npm test", "package.json has a script `test`"),
        ("go test ./...", "there is go.mod"),
    ]


def test_a_command_whose_program_is_installed_is_preferred(tmp_path: Path) -> None:
    laid_out(tmp_path, {"Makefile": "test:\n", "package.json": package(scripts={"test": "react-scripts test"})})
    result = detect(tmp_path, lambda program: "/bin/npm" if program == "npm" else None)
    assert [item.is_installed for item in result.checks] == [False, True]
    assert result.check is not None
    assert result.check.command == "CI=true npm test"


def test_without_an_installed_program_the_likeliest_command_is_returned(tmp_path: Path) -> None:
    result = detect(laid_out(tmp_path, {"go.mod": ""}), lambda program: None)
    assert result.check is not None
    assert (result.check.command, result.check.is_installed) == ("go test ./...", False)


def test_python_is_called_by_its_installed_name(tmp_path: Path) -> None:
    result = detect(laid_out(tmp_path, {"pytest.ini": ""}), lambda name: "/bin/python3" if name == "python3" else None)
    assert result.check is not None
    assert (result.check.command, result.check.is_installed) == ("python3 -m pytest -q", True)


def test_unreadable_files_are_ignored(tmp_path: Path) -> None:
    for name in ("Makefile", "package.json", "pyproject.toml", "go.mod", "tests"):
        (tmp_path / name).mkdir()
    (tmp_path / "justfile").symlink_to("nowhere")
    (tmp_path / "Rakefile").write_bytes(b"\xff" * 100)
    assert detect(tmp_path, everything).checks == ()


def test_this_repository_tests_itself_with_make() -> None:
    result = detect(Path(__file__).parents[3], everything)
    assert result.check is not None
    assert result.check.command == "make test"
