"""Protected files are restored, permitted changes stay, and other suspicious changes are reported."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec import structs

from bridle.errors import InternalError, JournalBroken
from bridle.loop.protection import baseline
from bridle.workspace import snapshot
from tests.loop.fixtures.repositories import Repository, make_repository, reopen
from tests.workspace.fixtures.repositories import read_tree

MAKEFILE = """PY = python3
.PHONY: test lint

test: unit
\t$(PY) tools/check.py

unit:
\t@true

lint:
\truff check .
"""
PACKAGE = """{
  "name": "x",
  "scripts": {
    "test": "node web/run.js",
    "build": "tsc"
  },
  "dependencies": {}
}
"""
PYPROJECT = """[project]
name = "x"
dependencies = []

[tool.pytest.ini_options]
addopts = "-q"

[tool.black]
line-length = 100
"""
CONFTEST = """import pytest


@pytest.fixture
def one():
    return 1
"""
NAMED = """from app import f


def test_one():
    assert f() == 1
    assert f() != 2
"""
OTHER = """def test_a():
    assert 1 + 1 == 2
    assert 2 + 2 == 4


def test_b():
    assert "b"[0] == "b"
"""
SCRIPT_TEST = "it('adds', () => {\n  expect(1 + 1).toBe(2);\n});\n"
FILES: dict[str, str | bytes] = {
    "Makefile": MAKEFILE,
    "package.json": PACKAGE,
    "pyproject.toml": PYPROJECT,
    "tests/conftest.py": CONFTEST,
    "tests/test_named.py": NAMED,
    "tests/test_other.py": OTHER,
    "tests/data/golden.txt": "gold\n",
    "tools/check.py": "print('ok')\n",
    "web/run.js": "console.log(1)\n",
    "web/app.test.js": SCRIPT_TEST,
    "run.sh": "#!/bin/sh\nexit 0\n",
    "app.py": "def f():\n    return 1\n",
    "bridle.toml": "tries = 3\n",
    ".gitignore": "*.log\n",
    ".ralph/kept": "committed by a person\n",
}
UNTRACKED: dict[str, str | bytes] = {
    "PLAN.md": "# Plan\n",
    "tests/test_accept.py": "def test_accept():\n    assert True is not False\n",
    ".ralph/check": "#!/bin/sh\nexit 0\n",
    "notes.txt": "mine\n",
}
CHECKS = (
    "python3 -m pytest tests/test_named.py::test_one -q",
    "pytest tests/test_accept.py",
    "make test",
    "npm test",
    "./run.sh",
)


@pytest.fixture(scope="module")
def began(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A run that has begun, and nothing has been done in it; every test works in a copy."""
    made = make_repository(
        tmp_path_factory.mktemp("began") / "r",
        FILES,
        checks=CHECKS,
        may_edit=("tests/test_named.py",),
        untracked=UNTRACKED,
        plan_path="PLAN.md",
        protect=("tests/data/*",),
    )
    made.start()
    return made


@pytest.fixture
def here(began: Repository, tmp_path: Path) -> Repository:
    folder = tmp_path / "r"
    shutil.copytree(began.folder, folder, symlinks=True)
    return reopen(folder)


@dataclass(frozen=True)
class Edit:
    """Something that an agent does, and what becomes of it."""

    name: str
    do: Callable[[Repository], object]
    undone: frozenset[str] = frozenset()
    reported: frozenset[str] = frozenset()
    holds: dict[str, str | None] = field(default_factory=dict)
    """What some files hold afterwards; None: they are not there."""


def write(**files: str) -> Callable[[Repository], None]:
    named = {name.replace("__", "/").replace("_DOT_", "."): text for name, text in files.items()}
    return lambda here: here.write(named)


def put(name: str, text: str | bytes) -> Callable[[Repository], None]:
    return lambda here: here.write({name: text})


def swap(name: str, old: str, new: str) -> Callable[[Repository], None]:
    def do(here: Repository) -> None:
        assert old in here.read(name)
        here.write({name: here.read(name).replace(old, new)})

    return do


def drop(name: str) -> Callable[[Repository], None]:
    return lambda here: (here.folder / name).unlink()


def both(*deeds: Callable[[Repository], object]) -> Callable[[Repository], None]:
    def do(here: Repository) -> None:
        for deed in deeds:
            deed(here)

    return do


def link(name: str, target: str) -> Callable[[Repository], None]:
    def do(here: Repository) -> None:
        (here.folder / name).unlink(missing_ok=True)
        (here.folder / name).symlink_to(target)

    return do


def move(old: str, new: str) -> Callable[[Repository], object]:
    return lambda here: (here.folder / old).rename(here.folder / new)


def command(*words: str) -> Callable[[Repository], object]:
    return lambda here: here.git(*words)


def _folder_to_link(here: Repository) -> None:
    elsewhere = here.folder.parent / "elsewhere"
    shutil.move(here.folder / "tools", elsewhere)
    (elsewhere / "check.py").write_text("raise SystemExit(0)\n")
    (here.folder / "tools").symlink_to(elsewhere)


def _folder_to_file(here: Repository) -> None:
    shutil.rmtree(here.folder / "tools")
    here.write({"tools": "a file now\n"})


def _file_to_folder(here: Repository) -> None:
    (here.folder / "run.sh").unlink()
    here.write({"run.sh/inside": "x\n"})


def _hide_from_git(here: Repository) -> None:
    here.git("rm", "-q", "--cached", "tests/test_named.py")
    here.write({".gitignore": "*.log\ntests/test_named.py\n"})


def _take_out_of_git(here: Repository) -> None:
    here.git("rm", "-q", "--cached", "app.py")
    here.write({".gitignore": "*.log\napp.py\n"})


def _a_repository(here: Repository) -> None:
    here.write({"inner/x.py": "x = 1\n"})
    here.git("-C", "inner", "init", "-q")
    here.git("-C", "inner", "add", "-A")
    here.git("-C", "inner", "commit", "-q", "-m", "inner")


def _hard_link(here: Repository) -> None:
    os.link(here.folder / "run.sh", here.folder / "copy.sh")
    with open(here.folder / "copy.sh", "w") as file:  # the same file under another name
        file.write("#!/bin/sh\nexit 1\n")


def undone(*names: str) -> frozenset[str]:
    return frozenset(names)


NAMED_FILE = undone("tests/test_named.py")
EDITS = [
    # Whole files that a check names
    Edit("a named test is changed", swap("tests/test_named.py", "f() == 1", "True"), NAMED_FILE),
    Edit("a named test is emptied", put("tests/test_named.py", ""), NAMED_FILE),
    Edit("a named test is deleted", drop("tests/test_named.py"), NAMED_FILE),
    Edit("a named test is made no text", put("tests/test_named.py", b"\xff\xfe\0"), NAMED_FILE),
    Edit("a named test is renamed", move("tests/test_named.py", "tests/test_new_name.py"), NAMED_FILE),
    Edit("a named test changes its case", move("tests/test_named.py", "tests/Test_named.py"), NAMED_FILE),
    Edit("a named test becomes a link", link("tests/test_named.py", "test_other.py"), NAMED_FILE),
    Edit(
        "the folder of all tests is deleted",
        lambda here: shutil.rmtree(here.folder / "tests"),
        undone("tests/test_named.py", "tests/test_accept.py", "tests/conftest.py", "tests/data/golden.txt"),
        reported=undone("tests/test_other.py"),
    ),
    Edit(
        "a program that is a check can no longer be run",
        lambda here: (here.folder / "run.sh").chmod(0o644),
        undone("run.sh"),
    ),
    Edit("a program that is a check becomes a link", link("run.sh", "/bin/true"), undone("run.sh")),
    Edit(
        "a program that is a check becomes a folder", _file_to_folder, undone("run.sh"), holds={"run.sh/inside": None}
    ),
    Edit(
        "a program is changed through another name of it",
        _hard_link,
        undone("run.sh"),
        holds={"copy.sh": "#!/bin/sh\nexit 1\n"},
    ),
    Edit(
        "an untracked file that a check names is changed",
        put("tests/test_accept.py", "def test_accept(): pass\n"),
        undone("tests/test_accept.py"),
    ),
    Edit("a file that a recipe names is changed", put("tools/check.py", "pass\n"), undone("tools/check.py")),
    Edit("a file that a script names is deleted", drop("web/run.js"), undone("web/run.js")),
    Edit(
        "a folder on the way becomes a link",
        _folder_to_link,
        undone("tools/check.py"),
        holds={"tools/check.py": "print('ok')\n"},
    ),
    Edit(
        "a folder on the way becomes a file",
        _folder_to_file,
        undone("tools/check.py"),
        holds={"tools/check.py": "print('ok')\n"},
    ),
    Edit(
        "a file of the setting `protect` is changed",
        put("tests/data/golden.txt", "lead\n"),
        undone("tests/data/golden.txt"),
    ),
    Edit("a named file is taken out of git and ignored", _hide_from_git, NAMED_FILE),
    Edit(
        "the index is told to overlook a named file",
        both(command("update-index", "--assume-unchanged", "tests/test_named.py"), put("tests/test_named.py", "")),
        NAMED_FILE,
    ),
    Edit(
        "the agent commits its change to a named file",
        both(put("tests/test_named.py", ""), command("commit", "-qam", "mine")),
        NAMED_FILE,
    ),
    # Bridle's own
    Edit("the plan is changed", put("PLAN.md", "# Done\n"), undone("PLAN.md")),
    Edit("the plan is deleted", drop("PLAN.md"), undone("PLAN.md")),
    Edit("the settings are changed", put("bridle.toml", "tries = 99\n"), undone("bridle.toml")),
    Edit("the repository's own check is changed", put(".ralph/check", "#!/bin/sh\ntrue\n"), undone(".ralph/check")),
    Edit("a file in .ralph is deleted", drop(".ralph/kept"), undone(".ralph/kept")),
    # Makefile
    Edit(
        "the recipe of a goal is changed",
        swap("Makefile", "$(PY) tools/check.py", "@true"),
        undone("Makefile"),
        holds={"Makefile": MAKEFILE},
    ),
    Edit(
        "a variable of a goal is changed",
        swap("Makefile", "PY = python3", "PY = true"),
        undone("Makefile"),
        holds={"Makefile": MAKEFILE},
    ),
    Edit(
        "a prerequisite's recipe is changed",
        swap("Makefile", "@true", "@rm -rf tests"),
        undone("Makefile"),
        holds={"Makefile": MAKEFILE},
    ),
    Edit(
        "a second rule for a goal is added",
        lambda here: here.write({"Makefile": MAKEFILE + "\ntest:\n\ttrue\n"}),
        undone("Makefile"),
        holds={"Makefile": MAKEFILE + "\n"},
    ),
    Edit(
        "the shell of all recipes is changed",
        lambda here: here.write({"Makefile": "SHELL = /bin/true\n" + MAKEFILE}),
        undone("Makefile"),
        holds={"Makefile": MAKEFILE},
    ),
    Edit(
        "errors of a goal are ignored",
        lambda here: here.write({"Makefile": MAKEFILE + ".IGNORE: test\n"}),
        undone("Makefile"),
        holds={"Makefile": MAKEFILE},
    ),
    Edit(
        "a goal is no longer phony, and a file has its name",
        both(swap("Makefile", ".PHONY: test lint", ".PHONY: lint"), put("test", "")),
        undone("Makefile"),
        holds={"test": ""},
    ),
    Edit(
        "a goal of the Makefile that is no check is changed",
        swap("Makefile", "ruff check .", "ruff check --fix ."),
        holds={"Makefile": MAKEFILE.replace("ruff check .", "ruff check --fix .")},
    ),
    Edit(
        "a goal is added",
        lambda here: here.write({"Makefile": MAKEFILE + "\nbuild:\n\ttrue\n"}),
        holds={"Makefile": MAKEFILE + "\nbuild:\n\ttrue\n"},
    ),
    Edit(
        "a goal is changed and another is added",
        lambda here: here.write({"Makefile": MAKEFILE.replace("tools/check.py", "-c pass") + "\nbuild:\n\ttrue\n"}),
        undone("Makefile"),
        holds={"Makefile": MAKEFILE + "\nbuild:\n\ttrue\n"},
    ),
    Edit(
        "a makefile that make prefers is added",
        put("GNUmakefile", "test:\n\ttrue\n"),
        undone("GNUmakefile"),
        holds={"GNUmakefile": None},
    ),
    Edit("the Makefile is deleted", drop("Makefile"), undone("Makefile"), holds={"Makefile": MAKEFILE}),
    # package.json
    Edit(
        "the script of a check is changed",
        swap("package.json", "node web/run.js", "true"),
        undone("package.json"),
        holds={"package.json": PACKAGE},
    ),
    Edit(
        "the script of a check is removed",
        swap("package.json", '"test": "node web/run.js",\n    ', ""),
        undone("package.json"),
        holds={"package.json": PACKAGE},
    ),
    Edit(
        "a script is put before the check",
        swap("package.json", '"build": "tsc"', '"build": "tsc",\n    "pretest": "rm -rf web"'),
        undone("package.json"),
        holds={"package.json": PACKAGE},
    ),
    Edit(
        "another script is changed",
        swap("package.json", '"tsc"', '"tsc -p ."'),
        holds={"package.json": PACKAGE.replace('"tsc"', '"tsc -p ."')},
    ),
    Edit(
        "a dependency is added",
        swap("package.json", '"dependencies": {}', '"dependencies": {"left-pad": "1"}'),
        holds={"package.json": PACKAGE.replace('"dependencies": {}', '"dependencies": {"left-pad": "1"}')},
    ),
    Edit(
        "a dependency is added and the script of a check is changed",
        both(
            swap("package.json", '"dependencies": {}', '"dependencies": {"left-pad": "1"}'),
            swap("package.json", "node web/run.js", "true"),
        ),
        undone("package.json"),
        holds={"package.json": PACKAGE.replace('"dependencies": {}', '"dependencies": {"left-pad": "1"}')},
    ),
    Edit("package.json is broken", put("package.json", "{"), undone("package.json"), holds={"package.json": PACKAGE}),
    # pyproject.toml and its kin
    Edit(
        "the options of the test runner are changed",
        swap("pyproject.toml", '"-q"', '"--collect-only"'),
        undone("pyproject.toml"),
        holds={"pyproject.toml": PYPROJECT},
    ),
    Edit(
        "the table of the test runner is removed",
        swap("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "-q"\n\n', ""),
        undone("pyproject.toml"),
    ),
    Edit(
        "a dependency of the project is added",
        swap("pyproject.toml", "[]", '["httpx"]'),
        holds={"pyproject.toml": PYPROJECT.replace("[]", '["httpx"]')},
    ),
    Edit(
        "a dependency is added and the options are changed",
        both(swap("pyproject.toml", "[]", '["httpx"]'), swap("pyproject.toml", '"-q"', '"--co"')),
        undone("pyproject.toml"),
        holds={"pyproject.toml": PYPROJECT.replace("[]", '["httpx"]')},
    ),
    Edit(
        "another tool's table is changed",
        swap("pyproject.toml", "100", "120"),
        holds={"pyproject.toml": PYPROJECT.replace("100", "120")},
    ),
    Edit(
        "settings of the test runner are added elsewhere",
        put("pytest.ini", "[pytest]\naddopts = --co\n"),
        undone("pytest.ini"),
        holds={"pytest.ini": None},
    ),
    Edit(
        "settings of the test runner are added to a new file",
        put("setup.cfg", "[metadata]\nname = x\n\n[tool:pytest]\naddopts = --co\n"),
        undone("setup.cfg"),
        holds={"setup.cfg": "[metadata]\nname = x\n\n"},
    ),
    Edit(
        "a module that python would take for the test runner is added",
        put("pytest.py", "raise SystemExit(0)\n"),
        undone("pytest.py"),
        holds={"pytest.py": None},
    ),
    # conftest.py
    Edit(
        "a fixture is added",
        lambda here: here.write({"tests/conftest.py": CONFTEST + "\n\n@pytest.fixture\ndef two():\n    return 2\n"}),
        holds={"tests/conftest.py": CONFTEST + "\n\n@pytest.fixture\ndef two():\n    return 2\n"},
    ),
    Edit(
        "a fixture is changed",
        swap("tests/conftest.py", "return 1", "return 2"),
        undone("tests/conftest.py"),
        holds={"tests/conftest.py": CONFTEST},
    ),
    Edit(
        "a hook that drops tests is added",
        lambda here: here.write(
            {"tests/conftest.py": CONFTEST + "\n\ndef pytest_collection_modifyitems(items):\n    items.clear()\n"}
        ),
        undone("tests/conftest.py"),
        holds={"tests/conftest.py": CONFTEST},
    ),
    Edit(
        "a hook that drops tests is added in a new file",
        put("conftest.py", "import sys\n\nsys.path.insert(0, '.')\ncollect_ignore = ['tests']\n"),
        undone("conftest.py"),
        holds={"conftest.py": "import sys\n\nsys.path.insert(0, '.')\n"},
    ),
    # Tests that no check names
    Edit("a test is added", put("tests/test_more.py", "def test_more():\n    assert 1\n")),
    Edit(
        "tests are added to a file",
        lambda here: here.write({"tests/test_other.py": OTHER + "\n\ndef test_c():\n    assert 3 == 3\n"}),
    ),
    Edit(
        "a test is skipped",
        swap("tests/test_other.py", "def test_b", "import pytest\n\n\n@pytest.mark.skip\ndef test_b"),
        reported=undone("tests/test_other.py"),
    ),
    Edit(
        "a test is skipped by unittest",
        swap("tests/test_other.py", "def test_b", "import unittest\n\n\n@unittest.skip('x')\ndef test_b"),
        reported=undone("tests/test_other.py"),
    ),
    Edit(
        "a test is deleted",
        swap("tests/test_other.py", 'def test_b():\n    assert "b"[0] == "b"\n', ""),
        reported=undone("tests/test_other.py"),
    ),
    Edit("a file of tests is deleted", drop("tests/test_other.py"), reported=undone("tests/test_other.py")),
    Edit("a file of tests is emptied", put("tests/test_other.py", ""), reported=undone("tests/test_other.py")),
    Edit(
        "a test is hollowed out",
        swap("tests/test_other.py", "assert 1 + 1 == 2\n    assert 2 + 2 == 4", "pass"),
        reported=undone("tests/test_other.py"),
    ),
    Edit(
        "a test asserts less",
        swap("tests/test_other.py", "    assert 2 + 2 == 4\n", ""),
        reported=undone("tests/test_other.py"),
    ),
    Edit("a file of tests is renamed", move("tests/test_other.py", "tests/test_renamed.py")),
    Edit(
        "a test in JavaScript is skipped",
        swap("web/app.test.js", "it('adds'", "it.skip('adds'"),
        reported=undone("web/app.test.js"),
    ),
    Edit(
        "a test in JavaScript is crossed out",
        swap("web/app.test.js", "it('adds'", "xit('adds'"),
        reported=undone("web/app.test.js"),
    ),
    # The rest
    Edit(
        "the work itself",
        both(swap("app.py", "return 1", "return 2"), put("lib/new.py", "x = 1\n")),
        holds={"lib/new.py": "x = 1\n"},
    ),
    Edit("nothing", lambda here: None),
    Edit("a file is deleted", drop("app.py")),
    Edit("a file is kept from git, and stays", _take_out_of_git, reported=undone("app.py", ".gitignore")),
    Edit(
        "files are hidden from git",
        both(put("hidden/real.py", "x = 1\n"), put(".gitignore", "*.log\nhidden/\n")),
        reported=undone(".gitignore"),
    ),
    Edit(
        "what tools write is hidden from git",
        both(put("__pycache__/x.pyc", "x"), put(".gitignore", "*.log\n__pycache__/\n")),
    ),
    Edit("a repository is made within", _a_repository, reported=undone("inner")),
    Edit("a person's file is changed", put("notes.txt", "changed\n"), holds={"notes.txt": "changed\n"}),
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.name)
def test_an_edit_is_reverted_reported_or_allowed(here: Repository, edit: Edit) -> None:
    before = read_tree(here.folder)
    edit.do(here)
    first = here.protect()
    assert {item["path"] for item in first["undone"]} == edit.undone
    assert {item["path"] for item in first["reported"]} == edit.reported
    assert all(item["what"] for item in (*first["undone"], *first["reported"]))
    after = read_tree(here.folder)
    for name in baseline.read(here.context).protected.files:
        assert after[name] == before[name]
    for name, text in edit.holds.items():
        assert after.get(name, ("", None))[1] == (None if text is None else text.encode()), name
    assert here.protect() == first  # done again after a crash, it says the same and changes nothing
    assert read_tree(here.folder) == after
    assert here.protect(iteration=2)["undone"] == []


def test_the_table_is_long_enough() -> None:
    assert len(EDITS) >= 40
    assert len({edit.name for edit in EDITS}) == len(EDITS)


def test_a_task_may_edit_what_its_plan_names(here: Repository) -> None:
    here.write({"tests/test_named.py": "", "bridle.toml": "tries = 9\n", "Makefile": "test:\n\ttrue\n"})
    result = here.protect(may_edit=["tests/*.py", "Makefile"])
    assert [item["path"] for item in result["undone"]] == ["bridle.toml"]
    assert here.read("tests/test_named.py") == ""
    assert here.read("Makefile") == "test:\n\ttrue\n"
    assert {item["path"]: item["what"] for item in result["reported"]} == {
        "tests/test_named.py": "it was emptied of 1 test (test_one)"
    }


def test_a_file_that_a_task_may_edit_is_then_protected_in_its_new_state(here: Repository) -> None:
    allowed = NAMED.replace("f() != 2", "f() != 3")
    here.write({"tests/test_named.py": allowed})
    assert here.protect(may_edit=["tests/test_named.py"])["undone"] == []
    here.commit("Other")
    assert here.protect()["undone"] == []
    here.write({"tests/test_named.py": NAMED})
    assert [item["path"] for item in here.protect(iteration=2)["undone"]] == ["tests/test_named.py"]
    assert here.read("tests/test_named.py") == allowed


def test_a_version_of_the_user_that_is_newer_than_the_last_commit_is_the_protected_one(here: Repository) -> None:
    here.write({"tests/test_named.py": NAMED.replace("f() != 2", "f() != 3")})
    tip, users = here.commit("Other"), NAMED.replace("f() != 2", "f() != 4")
    here.write({"tests/test_named.py": users})
    adopted = baseline.adopt(here.context, ["tests/test_named.py"], [], tip, added=(), before=tip, with_new_marks=True)
    asyncio.run(adopted)
    here.context = structs.replace(here.context, changes_adopted=1)
    assert here.protect()["undone"] == []
    assert here.read("tests/test_named.py") == users
    here.write({"tests/test_named.py": NAMED})
    assert [item["path"] for item in here.protect(iteration=2)["undone"]] == ["tests/test_named.py"]
    assert here.read("tests/test_named.py") == users


def test_a_commit_by_the_agent_does_not_allow_an_edit(here: Repository) -> None:
    here.write({"tests/test_named.py": ""})
    here.git("commit", "-q", "-am", "the agent's own\n\nBridle-Run: another")
    assert [item["path"] for item in here.protect()["undone"]] == ["tests/test_named.py"]
    assert here.read("tests/test_named.py") == NAMED


def test_what_an_interrupted_attempt_has_noted_is_what_the_next_one_reports(here: Repository) -> None:
    here.write({"bridle.toml": "tries = 99\n"})
    first = here.protect()["undone"]
    (here.folder / "bridle.toml").unlink()
    assert here.protect()["undone"] == first != here.protect(iteration=2)["undone"]


def test_changes_are_reported_against_the_last_commit_of_the_run(here: Repository) -> None:
    assert here.protect()["changed"] is False
    here.write({"app.py": "x = 2\n"})
    first = here.protect(iteration=2)
    assert first["changed"] is True
    here.git("add", "app.py")
    here.git("commit", "-q", "-m", "agent")
    assert here.protect(iteration=3) == first
    here.commit()
    assert here.protect(iteration=4)["changed"] is False
    here.write({"tests/test_named.py": ""})  # undone, so that nothing is left of it
    assert here.protect(iteration=5)["changed"] is False


def test_a_changed_baseline_is_refused(here: Repository) -> None:
    start = baseline.read(here.context)
    assert here.protect(origin=start.digest)["undone"] == []
    path = baseline.record_path(here.context)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_text()
    for text in (before.replace("run.sh", "run.SH"), "{"):
        path.write_text(text)
        assert here.protect(origin=start.digest)["undone"] != [], "this driver knows what it recorded"
        assert path.read_text() == before
    path.write_text(before.replace("run.sh", "run.SH"))
    with pytest.raises(JournalBroken, match="was changed after the run began"):
        reopen(here.context.folder).protect(origin=start.digest)
    path.write_text("{")
    with pytest.raises(JournalBroken, match="cannot read"):
        reopen(here.context.folder).protect()
    path.unlink()
    with pytest.raises(InternalError, match="has no baseline"):
        reopen(here.context.folder).protect()


def test_protected_files_survive_git_gc(here: Repository) -> None:
    here.write({"tests/test_accept.py": "", ".ralph/check": ""})
    here.git("gc", "-q", "--prune=now")
    assert {item["path"] for item in here.protect()["undone"]} == {"tests/test_accept.py", ".ralph/check"}


def test_ticks_by_bridle_do_not_change_the_plan(here: Repository) -> None:
    here.write({"PLAN.md": "# Plan\n- [x] done\n"})
    asyncio.run(snapshot.take(here.context.git, name="before"))
    here.write({"PLAN.md": "# Plan\n- [x] done\n- [x] and this\n"})
    ticking = Repository(structs.replace(here.context, settings=dataclasses.replace(here.context.settings, tick=True)))
    assert [item["path"] for item in ticking.protect(snapshot="before")["undone"]] == ["PLAN.md"]
    assert here.read("PLAN.md") == "# Plan\n- [x] done\n"


def test_a_link_that_replaces_a_folder_of_bridle_is_removed(here: Repository, tmp_path: Path) -> None:
    (tmp_path / "lure").mkdir()
    shutil.rmtree(here.folder / ".ralph")
    (here.folder / ".ralph").symlink_to(tmp_path / "lure")
    result = here.protect()
    assert {item["path"] for item in result["undone"]} == {".ralph", ".ralph/.gitignore", ".ralph/check", ".ralph/kept"}
    assert not (here.folder / ".ralph").is_symlink()
    assert list((tmp_path / "lure").iterdir()) == []


def test_links_are_protected_as_links(tmp_path: Path) -> None:
    made = make_repository(tmp_path / "r", {"real.sh": "#!/bin/sh\n"}, checks=["./check.sh"])
    (made.folder / "check.sh").symlink_to("real.sh")
    made.start()
    (made.folder / "check.sh").unlink()
    made.write({"check.sh": "#!/bin/sh\n"})
    assert [item["path"] for item in made.protect()["undone"]] == ["check.sh"]
    assert os.readlink(made.folder / "check.sh") == "real.sh"


def test_line_endings_that_git_converts_are_not_a_change(tmp_path: Path) -> None:
    made = make_repository(
        tmp_path / "r", {".gitattributes": "* text=auto\n", "check.bat": b"one\r\ntwo\r\n"}, checks=["sh check.bat"]
    )
    made.start()
    assert made.protect()["undone"] == []
    made.write({"check.bat": b"one\ntwo\n"})
    assert [item["path"] for item in made.protect(iteration=2)["undone"]] == ["check.bat"]
    assert (made.folder / "check.bat").read_bytes() == b"one\r\ntwo\r\n"


def test_names_that_are_not_utf_8_are_protected_too(tmp_path: Path) -> None:
    made = make_repository(tmp_path / "r", {"a b\nc.sh": "1\n"}, checks=["true"], protect=("*",))
    odd = os.fsdecode(b"\xff.sh")
    made.write({odd: "2\n"})
    made.start()
    made.write({odd: "changed\n", "a b\nc.sh": "changed\n"})
    assert {item["path"] for item in made.protect()["undone"]} == {odd, "a b\nc.sh"}
    assert (made.read(odd), made.read("a b\nc.sh")) == ("2\n", "1\n")


def test_a_runner_without_settings_may_get_some_but_none_that_choose_tests(tmp_path: Path) -> None:
    made = make_repository(tmp_path / "r", {"tests/test_a.py": OTHER}, checks=["pytest"])
    made.start()
    made.write({"pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\n'})
    assert made.protect()["undone"] == []
    made.write({"pyproject.toml": '[project]\nname = "x"\n[tool.pytest.ini_options]\naddopts = "--co"\n'})
    assert [item["path"] for item in made.protect(iteration=2)["undone"]] == ["pyproject.toml"]
    assert made.read("pyproject.toml") == '[project]\nname = "x"\n'
    made.write({"pytest.ini": "[pytest]\ntestpaths = nowhere\n"})
    assert [item["path"] for item in made.protect(iteration=3)["undone"]] == ["pytest.ini"]
    assert not (made.folder / "pytest.ini").exists()


def test_a_hook_that_drops_tests_is_removed_from_a_new_conftest_below_the_tested_folder(tmp_path: Path) -> None:
    tests = {"tests/deep/test_a.py": "def test_a():\n    assert 1\n"}
    here = make_repository(tmp_path / "r", tests, checks=["pytest tests"])
    here.start()
    here.write({"tests/deep/conftest.py": "import sys\n\nsys.path.insert(0, '.')\ncollect_ignore = ['test_a.py']\n"})
    assert [item["path"] for item in here.protect()["undone"]] == ["tests/deep/conftest.py"]
    assert here.read("tests/deep/conftest.py") == "import sys\n\nsys.path.insert(0, '.')\n"


def test_a_missing_file_that_a_check_names_may_be_created(tmp_path: Path) -> None:
    made = make_repository(
        tmp_path / "r", {"a.py": ""}, checks=["make test", "npm test", "pytest tests/test_new.py", "./new.sh"]
    )
    made.start()
    work = {
        "Makefile": "test:\n\ttrue\n",
        "package.json": '{"scripts": {"test": "true"}}',
        "tests/test_new.py": OTHER,
        "new.sh": "#!/bin/sh\n",
    }
    made.write(work)
    result = made.protect()
    assert (result["undone"], result["reported"], result["changed"]) == ([], [], True)


def test_the_list_for_users_names_files_and_parts(here: Repository) -> None:
    assert baseline.read(here.context).lines() == [
        ".ralph/.gitignore",
        ".ralph/check",
        ".ralph/kept",
        "PLAN.md",
        "bridle.toml",
        "run.sh",
        "tests/data/golden.txt",
        "tests/test_accept.py",
        "tests/test_named.py",
        "tools/check.py",
        "web/run.js",
        "Makefile ($PY, test, unit)",
        "package.json (scripts.posttest, scripts.pretest, scripts.test)",
        "pyproject.toml (tool.pytest)",
        "tests/conftest.py",
    ]
