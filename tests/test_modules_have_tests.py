"""A module with logic has a test of its own name, or the tests of its package cover it."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "bridle"
# A shorter module has little logic, and is tested with those that use it.
SHORT_LINES = 60

# Packages that are tested from elsewhere, with the tests that do it.
TESTED_ELSEWHERE = {
    "agent/assemble": ("agent/test_program.py", "agent/test_ralph.py"),
    "cli/completion": ("cli/commands/reference/test_completion.py",),
    "cli/doctor": ("cli/commands/repository/test_doctor.py",),
    "cli/demo": ("cli/commands/repository/test_demo.py",),
    "engine/entries": ("engine/test_inbox.py", "engine/drive/test_drive_kills.py"),
    "loop/protection/recorded": (
        "attacks/test_files_that_the_user_runs_later.py",
        "attacks/test_program_on_the_path.py",
    ),
    "loop/protection/suites": ("loop/protection/test_weakened_tests.py",),
}


def packages_with_untested_modules() -> set[str]:
    """Return the packages with a longer module and no test, neither of its name nor in the folder of its tests."""
    packages = set()
    for path in SOURCE.rglob("*/*.py"):
        module = path.relative_to(SOURCE)
        folder = TESTS / module.parent
        is_short = path.name == "__init__.py" or path.read_text(encoding="utf-8").count("\n") <= SHORT_LINES
        if not is_short and not (folder / f"test_{module.name}").exists() and not list(folder.glob("test_*.py")):
            packages.add(str(module.parent))
    return packages


def test_every_package_has_tests_beside_it_or_in_the_table() -> None:
    assert packages_with_untested_modules() <= set(TESTED_ELSEWHERE)


@pytest.mark.parametrize("package", TESTED_ELSEWHERE)
def test_the_tests_in_the_table_exist(package: str) -> None:
    assert [name for name in TESTED_ELSEWHERE[package] if not (TESTS / name).is_file()] == []
