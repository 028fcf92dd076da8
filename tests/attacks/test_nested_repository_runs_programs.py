"""Attack: an agent makes a repository in a folder, with a filter, a hook or `core.fsmonitor` in its configuration.

Git starts itself in a nested repository at `git status` and `git add`, also the git of Bridle, outside of the sandbox.
What runs programs is removed before that, the rest of the repository stays, and the settings are named. In a
repository that the user had below the working copy, everything that git obeys is restored.

With the sandbox: the same; the working copy is writable.
Without: what runs programs is removed.
Reported: in the receipt, with the settings.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from bridle.loop.effect_results import FileReport
from bridle.loop.protection.git_files import nested_repositories
from bridle.loop.protection.git_files.nested_repositories import Repositories
from bridle.workspace.git import Git
from tests.attacks.fixtures.sandboxed import git, make_target


def restore(work: Path, before: Repositories) -> dict[str, str]:
    async def play() -> list[FileReport]:
        return await nested_repositories.restore(Git(work), work / ".git", before)

    return {report.path: report.what for report in asyncio.run(play())}


def make_nested(folder: Path) -> None:
    git(folder.parent, "init", "-q", folder.name)
    (folder / "a").write_text("a\n")
    (folder / ".gitattributes").write_text("* filter=x\n")
    git(folder, "add", "a")
    git(folder, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "nested")
    git(folder, "remote", "add", "origin", "https://example.com/x")


def make_hostile(folder: Path, note: Path) -> None:
    command = f"sh -c 'echo ran >> {note}; cat'"
    for name in ("core.fsmonitor", "filter.x.clean", "core.hooksPath"):
        git(folder, "config", name, command)
    (folder / ".git/hooks/post-index-change").write_text(f"#!/bin/sh\necho ran >> {note}\n")
    (folder / ".git/hooks/post-index-change").chmod(0o755)
    (folder / "a").write_text("b\n")
    os.utime(folder / "a", (1, 1))


def test_it_runs_no_program(tmp_path: Path) -> None:
    work, note = make_target(tmp_path).work, tmp_path / "note"
    (work / "users").mkdir()
    make_nested(work / "users" / "library")
    before = nested_repositories.read(work, work / ".git")
    assert set(before.files) == {work / "users/library/.git"}
    make_nested(work / "nested")
    for folder in (work / "nested", work / "users/library"):
        make_hostile(folder, note)
    reports = restore(work, before)
    hook = ".git/hooks/post-index-change"
    assert set(reports) == {f"{f}/{n}" for f in ("nested", "users/library") for n in (".git/config", hook)}
    assert "core.fsmonitor, core.hookspath, filter.x.clean" in reports["nested/.git/config"]
    for _ in range(2):
        git(work, "add", "-A")
        git(work, "status")
    assert not note.exists()
    for folder in (work / "nested", work / "users/library"):
        assert git(folder, "remote", "get-url", "origin") == "https://example.com/x"
        assert git(folder, "status", "--porcelain", "a") == "M a"


def test_a_new_repository_without_programs_and_one_elsewhere_stay_as_they_are(tmp_path: Path) -> None:
    work = make_target(tmp_path).work
    make_nested(tmp_path / "elsewhere")
    make_hostile(tmp_path / "elsewhere", tmp_path / "note")
    before = (tmp_path / "elsewhere/.git/config").read_bytes()
    (work / "pointer").mkdir()
    (work / "pointer/.git").write_text(f"gitdir: {tmp_path}/elsewhere/.git\n")
    users = nested_repositories.read(work, work / ".git")
    make_nested(work / "nested")
    assert restore(work, users) == {}
    assert (tmp_path / "elsewhere/.git/config").read_bytes() == before


def test_settings_that_cannot_be_parsed_are_removed(tmp_path: Path) -> None:
    work = make_target(tmp_path).work
    for name, text in (("broken", "[core\n"), ("included", "[include]\n\tpath = ../evil\n"), ("plain", None)):
        make_nested(work / name)
        if text is not None:
            (work / name / ".git/config").write_text(text)
    (work / "broken/.git/hooks/pre-commit").symlink_to("/bin/true")
    reports = restore(work, Repositories())
    assert set(reports) == {"broken/.git/config", "broken/.git/hooks/pre-commit", "included/.git/config"}
    assert git(work / "broken", "status", "--porcelain", "a") == ""
    assert (work / "included/.git/config").read_text() == ""


def test_a_new_gitfile_that_leads_elsewhere_is_removed_and_one_of_the_user_restored(tmp_path: Path) -> None:
    """Attack: an agent leads `nested/.git` to a repository in a folder of its own outside of the working copy.

    A folder such as that of its sessions is writable in the sandbox, and its filter would run in the git of Bridle and
    of the user. So a file or link `.git` that was not there before is removed if it leads out of the working copy.

    With the sandbox: the same; the working copy is writable.
    Without: removed, or restored if the user had one.
    Reported: in the receipt, by name.
    """
    work, note = make_target(tmp_path).work, tmp_path / "note"
    make_nested(tmp_path / "users")
    make_nested(tmp_path / "agents")
    for name in ("kept", "changed", "new", "dangling", "newline", "link"):
        (work / name).mkdir()
    for name in ("kept", "changed"):
        (work / name / ".git").write_text(f"gitdir: {tmp_path}/users/.git\n")
    before = nested_repositories.read(work, work / ".git")
    make_hostile(tmp_path / "agents", note)
    (tmp_path / "agents/.git").rename(tmp_path / "a\nb")
    (work / "changed/.git").write_text(f"gitdir: {tmp_path}/a\nb\n")
    (work / "new/.git").write_text(f"gitdir: {tmp_path}/users/.git\0\n")
    (work / "dangling/.git").write_text(f"gitdir: {tmp_path}/not-yet\n")
    (work / "newline/.git").write_text(f"gitdir: {tmp_path}/a\nb\n")
    (work / "link/.git").symlink_to(tmp_path / "a\nb")
    reports = restore(work, before)
    assert set(reports) == {f"{name}/.git" for name in ("changed", "new", "dangling", "newline", "link")}
    assert (work / "changed/.git").read_text() == (work / "kept/.git").read_text()
    assert [name for name in ("new", "dangling", "newline", "link") if (work / name / ".git").exists()] == []
    git(work, "status")
    assert not note.exists()
