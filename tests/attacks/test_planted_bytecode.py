"""Attack: compiled code in `__pycache__` that Python runs instead of the source; git ignores it.

The agent wants checks that pass with code that no commit contains. What was compiled during the run is removed before
the checks; what the user had compiled before stays.

With the sandbox: removed before the checks, which run the source.
Without: removed before the checks, which run the source.
Reported: by the output of the check.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import py_compile
import sys
from pathlib import Path

from bridle.ground import ids
from bridle.loop.checks import bytecode, environment
from tests.loop.fixtures.repositories import make_repository

CHECK = f"{sys.executable} -c 'import code_; assert code_.VALUE == 1'"
UNCHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH


def test_checks_run_the_source(tmp_path: Path, sandbox: str) -> None:
    files: dict[str, str | bytes] = {"code_.py": "VALUE = 0\n", ".gitignore": "*.pyc\n"}
    here = make_repository(tmp_path / "r", files, checks=(CHECK,), sandbox=sandbox)
    here.start()
    planted = importlib.util.cache_from_source(str(here.folder / "code_.py"))
    (tmp_path / "other.py").write_text("VALUE = 1\n")
    py_compile.compile(str(tmp_path / "other.py"), cfile=planted, doraise=True, invalidation_mode=UNCHECKED)
    os.utime(planted, (1, 1))
    assert os.system(f"cd {here.folder} && {CHECK}") == 0, "the attack works on Python"  # noqa: S605
    assert not here.check(CHECK)["passed"]
    assert here.read("code_.py") == "VALUE = 0\n"


def test_a_compiled_module_without_a_source_is_a_file_that_no_commit_contains(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.txt": "a\n", ".gitignore": "*.pyc\n"}
    here = make_repository(tmp_path / "r", files, checks=(CHECK,))
    here.start()
    asyncio.run(environment.record(here.context))
    (tmp_path / "other.py").write_text("VALUE = 1\n")
    py_compile.compile(str(tmp_path / "other.py"), cfile=str(here.folder / "code_.pyc"), doraise=True)
    result = here.check(CHECK)
    assert result["passed"]
    assert result["outside"] == ["code_.pyc"]


def test_a_link_in_the_place_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"code_.py": "VALUE = 0\n", "in/code_.py": "VALUE = 0\n", ".gitignore": "*.pyc\n"}
    here = make_repository(tmp_path / "r", files, checks=(CHECK,))
    here.start()
    users = tmp_path / "users"
    users.mkdir()
    (tmp_path / "other.py").write_text("VALUE = 1\n")
    cached = Path(importlib.util.cache_from_source("code_.py")).name
    py_compile.compile(str(tmp_path / "other.py"), cfile=str(users / cached), doraise=True, invalidation_mode=UNCHECKED)
    (users / "link.pyc").symlink_to("/etc/hostname")
    (here.folder / "__pycache__").symlink_to(users)
    (here.folder / "in" / "__pycache__").symlink_to(users)
    assert not here.check(CHECK)["passed"]
    assert {entry.name for entry in users.iterdir()} == {cached, "link.pyc"}


def test_only_what_was_compiled_during_the_run_is_removed() -> None:
    assert bytecode._started(ids.new_id()) > 1_700_000_000
    assert bytecode._started("01jrun") == 0.0
