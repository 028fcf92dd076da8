"""Parts of files: whatever is done to a text, its protected parts come back, and nothing else of it is touched."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.loop.protection.formats import conftest, makefile, package_json, toml_and_ini
from bridle.loop.protection.formats.named_blocks import Block, Read
from bridle.loop.protection.protected_parts import Restored

MAKEFILE = """# a comment
PY ?= python3
FLAGS := -q \\
\t-x
export PATH := $(CURDIR)/bin:$(PATH)
.PHONY: test lint
include mk/common.mk

define BANNER
say hello
endef

all: build
ifdef CI
EXTRA = --ci
else
EXTRA = --local
endif

test check: build | dirs
\t@$(PY) run.py $(FLAGS) $(EXTRA)

# about the build
build: a.c ; cc a.c
dirs:
\tmkdir -p out
lint:
\t$(call BANNER)
\truff check .
"""
PACKAGE = """{
  "name": "x",
  "scripts": {
    "test": "jest",
    "build": "tsc"
  },
  "jest": { "bail": true },
  "dependencies": { "a": "1" }
}
"""
TOML = """# head
[project]
name = "x"

[tool.pytest.ini_options]
addopts = "-q"
markers = [
  "slow: takes long",
]

[tool.ruff]
line-length = 100
"""
INI = "[metadata]\nname = x\n\n[tool:pytest]\naddopts = -q\n\n[mypy]\nstrict = true\n\n[mypy-foo.*]\nignore = true\n"
CONFTEST = '''"""Fixtures."""

import os
from pathlib import Path

import pytest

HERE = Path(__file__)


@pytest.fixture
def one(tmp_path):
    # a comment
    return 1


class Thing:
    pass


def pytest_configure(config):
    config.x = 1
'''

GOALS = makefile.uses([MAKEFILE], ["test"]).names
KINDS: dict[str, tuple[str, Callable[[str], Restored | None]]] = {
    "make": (MAKEFILE, lambda text: makefile.restore(MAKEFILE, text, GOALS)),
    "npm": (PACKAGE, lambda text: package_json.restore(PACKAGE, text, ["scripts.test", "scripts.pretest", "jest"])),
    "toml": (TOML, lambda text: toml_and_ini.restore_toml(TOML, text, ["tool.pytest"])),
    "ini": (INI, lambda text: toml_and_ini.restore_ini(INI, text, ["tool:pytest", "mypy*"])),
    "conftest": (CONFTEST, lambda text: conftest.restore(CONFTEST, text)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_unchanged_text_is_not_restored(kind: str) -> None:
    text, mend = KINDS[kind]
    assert mend(text) is None


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_restoring_any_text_once_is_enough(kind: str, data: st.DataObject) -> None:
    text, mend = KINDS[kind]
    lines = text.splitlines(keepends=True)
    changed = "".join(
        data.draw(st.lists(st.sampled_from([*lines, "x = 1\n", "test:\n\ttrue\n", "{", "[tool]\n"]), max_size=40))
    )
    start = data.draw(st.integers(0, len(changed)))
    changed = changed[:start] + data.draw(st.text(max_size=8)) + changed[start:]
    restored = mend(changed)
    if restored is not None:
        assert restored.what
        assert restored.text is not None
        assert mend(restored.text) is None


def test_an_ini_file_with_a_line_that_continues_no_value_is_restored_whole() -> None:
    changed = f"{INI}[metadata]\nname\n  x\n"
    restored = toml_and_ini.restore_ini(INI, changed, ["tool:pytest"])
    assert restored is not None
    assert restored.text == INI
    assert restored.what == ("it can no longer be read: a key without a value is followed by an indented line",)


READERS: list[Read] = [makefile.read, conftest.read]


@pytest.mark.parametrize("read", READERS)
@given(text=st.text(alphabet="ab:=\t\n \\#;$()%.@\r", max_size=60))
def test_blocks_join_to_their_text(read: Read, text: str) -> None:
    try:
        result: Sequence[Block] = read(text)
    except ValueError:
        return
    assert "".join(block.text for block in result) == text


@pytest.mark.parametrize("text", [MAKEFILE, CONFTEST])
def test_the_blocks_of_a_real_file_join_to_it(text: str) -> None:
    read = makefile.read if text is MAKEFILE else conftest.read
    assert "".join(block.text for block in read(text)) == text


# Makefiles


def test_a_goal_uses_its_prerequisites_and_variables() -> None:
    used = makefile.uses([MAKEFILE], ["test"])
    assert {"test", "build", "$PY", "$FLAGS", "$EXTRA", ".PHONY:test", "include"} <= set(used.names)
    assert not {"lint", "all", "$BANNER"} & set(used.names)
    assert used.recipes == ("python3 run.py -q -x --local", "mkdir -p out", "cc a.c")
    assert used.includes == ("mk/common.mk",)


def test_a_make_without_a_goal_means_the_first_one() -> None:
    used = makefile.uses(["a:\n\techo a\nb:\n\techo b\n"], [])
    assert used.recipes == ("echo a",)
    restored = makefile.restore("a:\n\techo a\nb:\n\techo b\n", "b:\n\techo b\na:\n\techo a\n", used.names)
    assert restored is not None
    assert makefile.uses([restored.text or ""], []).recipes == ("echo a",)
    chosen = makefile.uses([".DEFAULT_GOAL := b\na:\n\techo a\nb:\n\techo b\n"], [])
    assert chosen.recipes == ("echo b",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("PY ?= python3", "PY ?= true"),
        ("PY ?= python3", "PY := python3"),
        ("\t@$(PY) run.py", "\t-@$(PY) run.py"),
        ("test check: build | dirs\n", "test check: build\n"),
        ("include mk/common.mk\n", "include mk/common.mk\ninclude evil.mk\n"),
        ("lint:\n", "test: PY = true\nlint:\n"),
        ("lint:\n", ".IGNORE:\nlint:\n"),
        ("lint:\n", "MAKEFLAGS += -i\nlint:\n"),
        ("lint:\n", "override PY = true\nlint:\n"),
        ("lint:\n", "define PY\ntrue\nendef\nlint:\n"),
        ("EXTRA = --local", "EXTRA = --co"),
        ("build: a.c ; cc a.c", "build: a.c ; true"),
        (".PHONY: test lint", ".PHONY: lint"),
        ("ifdef CI", "ifdef NEVER"),
    ],
)
def test_a_change_to_what_a_goal_uses_is_reverted(old: str, new: str) -> None:
    assert old in MAKEFILE
    restored = makefile.restore(MAKEFILE, MAKEFILE.replace(old, new, 1), GOALS)
    assert restored is not None
    assert restored.text is not None
    assert makefile.restore(MAKEFILE, restored.text, GOALS) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\truff check .", "\truff check --fix ."),
        ("# a comment", "# another comment"),
        ("all: build", "all: build docs"),
        (".PHONY: test lint", ".PHONY: test lint docs"),
        ("lint:\n", "docs:\n\tmkdocs build\n\nlint:\n"),
        ("say hello", "say bye"),
        ("export PATH", "NEW = 1\nexport PATH"),
        ("FLAGS := -q \\\n\t-x", "FLAGS := -q -x"),
    ],
)
def test_other_changes_of_a_makefile_are_allowed(old: str, new: str) -> None:
    assert old in MAKEFILE
    assert makefile.restore(MAKEFILE, MAKEFILE.replace(old, new, 1), GOALS) is None


def test_additions_stay_when_a_rule_is_restored() -> None:
    changed = MAKEFILE.replace("@$(PY) run.py", "@true").replace("lint:\n", "docs:\n\tmkdocs build\n\nlint:\n")
    restored = makefile.restore(MAKEFILE, changed, GOALS)
    assert restored is not None
    assert (restored.text, restored.is_whole) == (
        MAKEFILE.replace("lint:\n", "docs:\n\tmkdocs build\n\nlint:\n"),
        False,
    )
    assert restored.what == ("test was changed",)


# package.json


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "x"},
        {"name": "x", "scripts": "none"},
        {"name": "x", "scripts": {}, "new": 1},
        {"scripts": {"test": "true", "pretest": "x", "lint": "y"}, "jest": {}},
        {"scripts": {"build": "tsc", "test": ["jest"]}, "jest": None},
        {"scripts": {"pretest": "x"}},
        {"scripts": {"a": "1", "pretest": "x", "b": "2"}, "jest": {"bail": True}},
    ],
)
@pytest.mark.parametrize("indent", [None, 2, 4, "\t"])
def test_scripts_and_keys_are_restored_in_any_layout(changed: dict[str, object], indent: int | str | None) -> None:
    restored = package_json.restore(
        PACKAGE, json.dumps(changed, indent=indent), ["scripts.test", "scripts.pretest", "jest"]
    )
    assert restored is not None
    assert not restored.is_whole
    made = json.loads(restored.text or "")
    assert made["scripts"]["test"] == "jest"
    assert "pretest" not in made["scripts"]
    assert made["jest"] == {"bail": True}
    other = {name: value for name, value in changed.items() if name not in ("scripts", "jest")}
    assert {name: value for name, value in made.items() if name not in ("scripts", "jest")} == other


def test_of_two_scripts_of_one_name_the_last_one_counts() -> None:
    twice = '{"scripts": {"test": "jest", "test": "true"}, "jest": {"bail": true}}'
    restored = package_json.restore(PACKAGE, twice, ["scripts.test"])
    assert restored is not None
    assert json.loads(restored.text or "")["scripts"]["test"] == "jest"


# Tables and sections


@pytest.mark.parametrize(
    "changed",
    [
        TOML.replace('"-q"', '"--co"'),
        TOML.replace("[tool.pytest.ini_options]", "[tool.pytest.other]"),
        TOML.replace("[tool.ruff]", '["tool" . pytest.extra]\nx = 1\n[tool.ruff]'),
        TOML.replace('[tool.pytest.ini_options]\naddopts = "-q"\n', "[tool.pytest.ini_options]\n"),
        TOML + '\n[tool]\npytest.more = "x"\n',
        'tool.pytest.ini_options.addopts = "--co"\n',
        "broken = [",
        "",
    ],
)
def test_a_table_is_restored_after_any_change(changed: str) -> None:
    restored = toml_and_ini.restore_toml(TOML, changed, ["tool.pytest"])
    assert restored is not None
    assert toml_and_ini.load_toml(restored.text or "")["tool.pytest.ini_options"]["addopts"] == "-q"


def test_the_same_table_in_another_form_is_not_a_change() -> None:
    same = TOML.replace('addopts = "-q"', "addopts = '-q'  # quiet").replace(
        '[\n  "slow: takes long",\n]', '["slow: takes long"]'
    )
    assert same != TOML
    assert toml_and_ini.restore_toml(TOML, same, ["tool.pytest"]) is None


def test_sections_by_pattern() -> None:
    changed = (
        INI.replace("ignore = true", "ignore = false").replace("name = x", "name = y") + "[mypy-bar.*]\nignore = true\n"
    )
    restored = toml_and_ini.restore_ini(INI, changed, ["mypy*"])
    assert restored is not None
    assert restored.text == INI.replace("name = x", "name = y")
    assert restored.what == ("[mypy-bar.*] was added", "[mypy-foo.*] was changed")


# conftest.py


@pytest.mark.parametrize(
    "added",
    [
        "def pytest_collection_modifyitems(items):\n    items[:] = []\n",
        "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n",
        "collect_ignore = ['x']\n",
        "pytest_plugins = ['evil']\n",
        "from evil import *\n",
        "from evil import pytest_runtest_call\n",
        "pytest.skip('all', allow_module_level=True)\n",
        "os._exit(0)\n",
        "@pytest.fixture(autouse=True)\ndef every():\n    pytest.skip('x')\n",
        "HERE = None\n",
        "class Thing:\n    x = 1\n",
        "def one():\n    return 2\n",
        "import sys; collect_ignore_glob = ['*']\n",
    ],
)
def test_hooks_and_settings_of_the_test_run_may_not_be_added(added: str) -> None:
    restored = conftest.restore(CONFTEST, f"{CONFTEST}\n\n{added}")
    assert restored is not None
    assert restored.text is not None
    assert restored.text.rstrip() == CONFTEST.rstrip()


@pytest.mark.parametrize(
    "added",
    [
        "@pytest.fixture\ndef two():\n    return 2\n",
        "@pytest.fixture(autouse=True)\ndef every(monkeypatch):\n    monkeypatch.setenv('A', 'b')\n",
        "import json\n",
        "import sys\nsys.path.insert(0, 'src')\n",
        "OTHER = 1\n",
        "os.environ.setdefault('A', 'b')\n",
        "# a comment\n",
    ],
)
def test_fixtures_may_be_added(added: str) -> None:
    assert conftest.restore(CONFTEST, f"{CONFTEST}\n\n{added}") is None


def test_an_emptied_conftest_is_restored_with_its_imports() -> None:
    restored = conftest.restore(CONFTEST, "")
    assert restored is not None
    compiled = compile(restored.text or "", "conftest.py", "exec")
    assert {"pytest", "Path", "one", "Thing"} <= set(compiled.co_names)
