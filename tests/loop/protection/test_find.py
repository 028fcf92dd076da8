"""What defines a check: the files that its words name, and the parts of others that say what it runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.loop.protection.find import find_definitions
from bridle.loop.protection.findings import RepositoryFiles
from bridle.loop.protection.protected_parts import Protected
from bridle.loop.protection.shell_commands import Simple, simple_commands

FILES: Mapping[str, str] = {
    "Makefile": "T = tests/run.py\ninclude mk/*.mk\ntest: unit\n\tpython $(T)\nlint:\n\truff check .\n",
    "mk/a.mk": "unit:\n\t$(MAKE) -C sub check\n",
    "sub/Makefile": "check:\n\t./c.sh\n",
    "sub/c.sh": "",
    "tests/run.py": "",
    "tests/test_a.py": "",
    "tests/test_b.py": "",
    "tests/conftest.py": "",
    "tests/deep/conftest.py": "",
    "other/conftest.py": "",
    "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-q"\n[tool.ruff]\nline-length = 1\n',
    "package.json": (
        '{"scripts": {"test": "node tests/t.js && npm run lint", "lint": "eslint src", "test:unit": "node tests/u.js"},'
        ' "eslintConfig": {}, "workspaces": ["web"]}'
    ),
    "tests/t.js": "",
    "tests/u.js": "",
    "web/package.json": '{"scripts": {"test": "jest"}, "jest": {}}',
    "web/jest.config.js": "",
    "run.sh": "",
    "Rakefile": "",
    "setup.cfg": "[flake8]\nmax = 1\n[mypy-x]\ny = 1\n",
    "spec/a_spec.rb": "",
    "data/in.txt": "",
    "cfg/jest.json": "",
}


SCRIPTS = "scripts.lint, scripts.postlint, scripts.posttest, scripts.prelint, scripts.pretest, scripts.test"


def found(*commands: str, files: Mapping[str, str] = FILES) -> Protected:
    return find_definitions(commands, RepositoryFiles(list(files), lambda path: path in files, files.get))


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("pytest tests/test_a.py", {"tests/test_a.py"}),
        ("pytest tests/test_a.py::Case::test_x -q", {"tests/test_a.py"}),
        ("pytest -q ./tests/test_a.py tests/test_b.py", {"tests/test_a.py", "tests/test_b.py"}),
        ("pytest 'tests/test_*.py'", {"tests/test_a.py", "tests/test_b.py"}),
        ("cd tests && pytest test_a.py", {"tests/test_a.py"}),
        ("(cd tests; ./run.py) && cd ..; ./run.sh", {"tests/run.py", "run.sh"}),
        ("bash -c 'cd tests && python run.py'", {"tests/run.py"}),
        ("sh -c \"sh -c './run.sh'\"", {"run.sh"}),
        ("timeout 60 ./run.sh", {"run.sh"}),
        ("FOO=run.sh env X=1 true", {"run.sh"}),
        ("./run.sh < data/in.txt > out.txt", {"run.sh", "data/in.txt"}),
        ("diff <(./run.sh) data/in.txt", {"run.sh", "data/in.txt"}),
        ('x=$(cat data/in.txt); test "$x"', {"data/in.txt"}),
        ("sh -c `cat data/in.txt`", {"data/in.txt"}),
        ("jest --config=cfg/jest.json", {"cfg/jest.json"}),
        ("tool -fcfg/jest.json", {"cfg/jest.json"}),
        ("tool @cfg/jest.json", {"cfg/jest.json"}),
        ("tool a=cfg/jest.json,data/in.txt", {"cfg/jest.json", "data/in.txt"}),
        ("rspec spec/a_spec.rb:12", {"spec/a_spec.rb"}),
        ("python -m unittest tests.test_a.Case.test_x", {"tests/test_a.py"}),
        ("python -m tests.run", {"tests/run.py"}),
        ("pytest 'unclosed tests/test_a.py", {"tests/test_a.py"}),
        ("true # run.sh is not run", set()),
        ("echo /run.sh ../run.sh", set()),
        ("make test", {"tests/run.py", "sub/c.sh"}),
        ("make -C sub check", {"sub/c.sh"}),
        ("cd sub && make check", {"sub/c.sh"}),
        ("make --directory=sub", {"sub/c.sh"}),
        ("make lint", set()),
        ("npm test", {"tests/t.js"}),
        ("npm t", {"tests/t.js"}),
        ("npm run test:unit", {"tests/u.js"}),
        ("yarn test:unit", {"tests/u.js"}),
        ("pnpm run 'test:*'", {"tests/u.js"}),
        ("run-p 'test:*'", {"tests/u.js"}),
        ("npm --prefix web test", {"web/jest.config.js"}),
        ("npm test -w web", {"web/jest.config.js", "tests/t.js"}),
        ("cd web && npx jest", {"web/jest.config.js"}),
        ("rake test", {"Rakefile"}),
        ("pip install -r data/in.txt && ./run.sh", {"run.sh"}),
        ("npm run nothing", set()),
        ("make nothing", set()),
    ],
)
def test_files_that_a_check_names_are_protected_as_a_whole(command: str, files: Collection[str]) -> None:
    assert set(found(command).files) == set(files)


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("make test", {"Makefile ($T, test, unit)", "mk/a.mk ($T, test, unit)", "sub/Makefile (check)"}),
        ("make lint", {"Makefile (lint)", "mk/a.mk (lint)", "pyproject.toml (tool.ruff)"}),
        (
            "npm test",
            {f"package.json (eslintConfig, {SCRIPTS})"},
        ),
        ("cd web && npm test", {"web/package.json (jest, scripts.posttest, scripts.pretest, scripts.test)"}),
        ("pytest tests/deep", {"pyproject.toml (tool.pytest)", "tests/conftest.py", "tests/deep/conftest.py"}),
        (
            "python3 -m pytest",
            {"pyproject.toml (tool.pytest)", "tests/conftest.py", "tests/deep/conftest.py", "other/conftest.py"},
        ),
        ("uv run pytest tests/test_a.py", {"pyproject.toml (tool.pytest)", "tests/conftest.py"}),
        ("flake8 && mypy .", {"setup.cfg (flake8, mypy*)"}),
        ("ruff check", {"pyproject.toml (tool.ruff)"}),
        ("./run.sh", set()),
    ],
)
def test_of_files_that_define_a_check_only_that_part_is_protected(command: str, parts: Collection[str]) -> None:
    protected = found(command)
    whole = set(protected.files)
    assert {line for line in protected.lines(FILES) if line not in whole} == set(parts)


@pytest.mark.parametrize(
    ("command", "absent"),
    [
        (
            "make test",
            {"GNUmakefile", "makefile", "sub/GNUmakefile", "sub/makefile"} | {"test", "unit", "sub/check", "mk/*.mk"},
        ),
        ("python -m unittest", {"unittest.py", "unittest/__init__.py", "unittest/__main__.py"}),
        ("pytest -q", {"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"}),
        ("ruff check", {"ruff.toml", ".ruff.toml"}),
        ("./run.sh", set()),
    ],
)
def test_files_that_would_override_a_definition_may_not_be_added(command: str, absent: Collection[str]) -> None:
    assert set(found(command).absent) == set(absent)


def test_missing_files_are_not_protected() -> None:
    protected = found("make test", "npm test", "pytest tests/new.py", "./new.sh", "jest", files={"a.py": ""})
    assert protected.files == {}
    assert [part for part in protected.parts if part.state == "there" and part.kind != "conftest"] == []


def test_what_runs_before_and_after_a_script_defines_the_check_too() -> None:
    scripts = '"pretest": "./before.sh", "test": "./t.sh", "posttest": "./after.sh", "prelint": "./lint.sh"'
    files = {"package.json": f'{{"scripts": {{{scripts}}}}}'} | dict.fromkeys(
        ("before.sh", "t.sh", "after.sh", "lint.sh"), ""
    )
    assert set(found("npm test", files=files).files) == {"before.sh", "t.sh", "after.sh"}


def test_scripts_that_run_each_other_in_a_circle_are_read_once() -> None:
    files = {"package.json": '{"scripts": {"a": "npm run b", "b": "npm run a && ./x.sh"}}', "x.sh": ""}
    assert set(found("npm run a", files=files).files) == {"x.sh"}


def test_the_reason_names_the_check() -> None:
    assert found("make test").files["tests/run.py"] == "the check `make test` names it"
    long = "pytest tests/test_a.py " + "-v " * 50
    assert len(found(long).files["tests/test_a.py"]) < 100


def test_protected_parts_survive_json() -> None:
    protected = found("make test", "npm test", "pytest", "python -m unittest")
    assert Protected.from_json(protected.as_json()) == protected


@given(line=st.text(alphabet="ab/ '\"\\|&;()<>$`#=\n\t-*[]{}!", max_size=40))
def test_any_shell_line_is_parsed(line: str) -> None:
    assert isinstance(found(line), Protected)


def test_a_line_is_split_as_a_shell_would() -> None:
    line = "cd sub && FOO=1 pytest 'a b' >out 2>&1; bash -c \"x y\" # c d\nnext | last"
    assert simple_commands(line) == [
        Simple(("FOO=1", "pytest", "a b", "out", "2"), "sub"),
        Simple(("a", "b"), "sub"),
        Simple(("1",), "sub"),
        Simple(("bash", "-c", "x y"), "sub"),
        Simple(("x", "y"), "sub"),
        Simple(("next",), "sub"),
        Simple(("last",), "sub"),
    ]
