"""Attack: a program in a folder of installed packages that a check starts, replaced or put before the real one.

Git ignores `node_modules/.bin` and `.venv/bin`, so no commit shows it. They are recorded before the agent, and restored
after it; installing another package stays possible.

With the sandbox: restored or removed before the checks.
Without: restored or removed before the checks.
Reported: on stderr and in the receipt, under `undone`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from bridle.loop.protection.recorded import check_programs
from tests.loop.fixtures.repositories import Repository, make_repository

PASS = "#!/bin/sh\nexit 0\n"
FAIL = "#!/bin/sh\nexit 1\n"


def put_program(here: Repository, name: str, text: str) -> None:
    path = here.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def test_it_is_restored_or_removed(tmp_path: Path, sandbox: str) -> None:
    files: dict[str, str | bytes] = {".gitignore": "node_modules/\n.venv/\n", "package.json": "{}\n"}
    check = ".venv/bin/pytest && node_modules/.bin/jest && grep one two"
    here = make_repository(tmp_path / "r", files, checks=(check,), sandbox=sandbox)
    path = f"{here.folder}/.venv/bin:{os.environ['PATH']}"
    here.context = replace(here.context, environment={**here.context.environment, "PATH": path})
    for name in (".venv/bin/pytest", ".venv/bin/python", "node_modules/jest/bin/jest.js"):
        put_program(here, name, FAIL)
    link = here.folder / "node_modules/.bin/jest"
    link.parent.mkdir()
    link.symlink_to("../jest/bin/jest.js")
    start = here.start()
    assert not start.kept.keys() & {".venv/bin/pytest", "node_modules/.bin/jest"}, "a worktree has its own"
    check_programs.record(here.context, start.protected, "before")
    for name in (".venv/bin/pytest", ".venv/bin/python", ".venv/bin/grep", ".venv/bin/black", "node_modules/.bin/node"):
        put_program(here, name, PASS)
    put_program(here, "node_modules/jest/bin/jest.js", PASS)
    put_program(here, "node_modules/.bin/jest", PASS)
    check_programs.record(here.context, start.protected, "before")  # an interrupted iteration begins again
    assert here.check(check)["passed"]
    undone = {report["path"]: report["what"] for report in here.protect(snapshot="before")["undone"]}
    changed = {".venv/bin/pytest", ".venv/bin/python", "node_modules/.bin/jest", "node_modules/jest/bin/jest.js"}
    added = {".venv/bin/grep", "node_modules/.bin/node"} if os.path.exists("/usr/bin/node") else {".venv/bin/grep"}
    assert changed | added <= undone.keys() <= changed | {".venv/bin/grep", "node_modules/.bin/node"}
    assert all("a check" in what and "`May edit:`" in what for what in undone.values())
    assert not here.check(check)["passed"]
    assert link.is_symlink()
    assert (here.folder / ".venv/bin/black").exists()
    assert here.protect(snapshot="before", iteration=2)["undone"] == []


@pytest.mark.parametrize("is_link", [False, True])
def test_one_in_a_folder_that_the_agent_makes_is_removed(tmp_path: Path, *, is_link: bool) -> None:
    """The PATH may name a folder that does not exist yet, and npm puts `node_modules/.bin` before it."""
    here = make_repository(tmp_path / "r", {".gitignore": ".venv\nnode_modules\n"}, checks=("make test",))
    path = f"{here.folder}/.venv/bin:{os.environ['PATH']}"
    here.context = replace(here.context, environment={**here.context.environment, "PATH": path})
    start = here.start()
    check_programs.record(here.context, start.protected, "before")
    if is_link:
        (here.folder / "programs").mkdir()
        (here.folder / ".venv").symlink_to("programs")
    put_program(here, ".venv/bin/make", PASS)
    put_program(here, ".venv/bin/mine", PASS)
    put_program(here, "node_modules/.bin/sh", PASS)
    assert here.check("make test")["passed"]
    undone = {report["path"] for report in here.protect(snapshot="before")["undone"]}
    assert undone == {".venv/bin/make", "node_modules/.bin/sh"}
    assert not here.check("make test")["passed"]
    assert not (here.folder / "node_modules/.bin/sh").exists()


def test_one_of_a_package_of_a_workspace_is_restored_or_removed(tmp_path: Path) -> None:
    """npm searches `node_modules/.bin` beside the package.json of a script, then in every folder above."""
    files: dict[str, str | bytes] = {
        ".gitignore": "node_modules\n",
        "package.json": '{"workspaces": ["packages/*"], "scripts": {"test": "npm test --workspaces"}}\n',
        "packages/a/package.json": '{"name": "a", "scripts": {"test": "jest && tap"}}\n',
        "packages/b/package.json": '{"name": "b"}\n',
    }
    here = make_repository(tmp_path / "r", files, checks=("npm test", "cd web && npx vitest"))
    for name in ("node_modules/.bin/jest", "packages/a/node_modules/.bin/tap", "web/node_modules/.bin/vitest"):
        put_program(here, name, FAIL)
    start = here.start()
    check_programs.record(here.context, start.protected, "before")
    attacks = {f"packages/a/node_modules/.bin/{name}" for name in ("jest", "tap", "sh")}
    attacks |= {"packages/node_modules/.bin/jest", "web/node_modules/.bin/vitest"}
    installed = {"packages/a/node_modules/.bin/black", "packages/b/node_modules/.bin/jest", "node_modules/.bin/tap"}
    for name in attacks | installed:
        put_program(here, name, PASS)
    undone = {report["path"] for report in here.protect(snapshot="before")["undone"]}
    assert undone == attacks
    assert all((here.folder / name).exists() for name in installed)
