"""What the model is told about where it works."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from bridle.agent.prompt import environment_info, git_status
from bridle.agent.prompt.environment_info import ContextScope, Machine, PromptContext, gather_context, opening_reminder
from bridle.agent.prompt.git_status import GitStatus
from bridle.agent.prompt.instructions import PROJECT, Instructions

LIMIT_SECONDS = 60


def scope(cwd: Path, **environment: str) -> ContextScope:
    home = cwd.parent / "home"
    (home / ".claude").mkdir(parents=True, exist_ok=True)
    return ContextScope(cwd, home / ".claude", {"PATH": os.environ["PATH"], "HOME": str(home), **environment})


def git(cwd: Path, *arguments: str) -> None:
    argv = ["git", "-C", str(cwd), "-c", "user.name=n", "-c", "user.email=e", *arguments]
    subprocess.run(argv, check=True, capture_output=True, timeout=LIMIT_SECONDS)


def repository(folder: Path) -> Path:
    top = (folder / "repo").resolve()
    top.mkdir()
    git(top, "init", "-q", "-b", "trunk")
    return top


def told(cwd: Path) -> GitStatus:
    found = asyncio.run(gather_context(scope(cwd))).git
    assert found is not None
    return found


def test_a_repository_tells_its_branch_its_changes_and_its_commits(tmp_path: Path) -> None:
    top = repository(tmp_path)
    (top / "a.txt").write_text("a", "utf-8")
    git(top, "add", ".")
    git(top, "commit", "-q", "-m", "the first")
    (top / "a.txt").write_text("b", "utf-8")
    (top / "é new").write_text("", "utf-8")
    (top / "src").mkdir()
    found = asyncio.run(gather_context(scope(top / "src"))).git
    assert found is not None
    assert (found.branch, found.main) == ("trunk", "main")
    assert found.status == ' M ../a.txt\n?? "../é new"'
    assert found.commits is not None
    assert found.commits.endswith(" the first")
    assert "Current branch: trunk" in found.text()


def test_a_repository_without_a_commit_has_none(tmp_path: Path) -> None:
    found = asyncio.run(gather_context(scope(repository(tmp_path)))).git
    assert found == GitStatus("trunk", "main", "", "")
    assert "(clean)" in found.text()
    assert "(none)" in found.text()


def test_the_main_branch_is_the_one_that_others_build_on(tmp_path: Path) -> None:
    top = repository(tmp_path)
    git(top, "commit", "-q", "--allow-empty", "-m", "x")
    git(top, "branch", "master")
    assert told(top).main == "master"
    (top / ".git/refs/remotes/origin").mkdir(parents=True)
    (top / ".git/refs/remotes/origin/HEAD").write_text("ref: refs/remotes/origin/develop\n", "utf-8")
    assert told(top).main == "develop"


def test_a_worktree_tells_the_main_branch_of_its_repository(tmp_path: Path) -> None:
    top = repository(tmp_path)
    git(top, "commit", "-q", "--allow-empty", "-m", "x")
    git(top, "branch", "master")
    git(top, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    found = asyncio.run(gather_context(scope(tmp_path / "tree"))).git
    assert found is not None
    assert (found.branch, found.main) == ("other", "master")


def test_a_folder_outside_of_any_repository_tells_nothing_of_git(tmp_path: Path) -> None:
    found = asyncio.run(gather_context(scope(tmp_path)))
    assert found.git is None
    assert not found.machine.is_repository


def test_git_does_not_run_unless_requested(tmp_path: Path) -> None:
    top = repository(tmp_path)
    wanted = scope(top)
    assert (
        asyncio.run(gather_context(ContextScope(top, wanted.config_folder, wanted.environment, reads_git=False))).git
        is None
    )


def test_a_long_status_is_cut_at_a_line() -> None:
    status = "\n".join(f" M file-{number}" for number in range(1000))
    shown = GitStatus("b", "main", status, "").text()
    assert len(shown) < git_status.STATUS_LIMIT_CHARACTERS + 400
    assert re.search(r"\n M file-\d+\n… \(truncated", shown)


def test_a_repository_that_is_broken_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nowhere\n", "utf-8")
    found = asyncio.run(gather_context(scope(tmp_path))).git
    assert found is not None
    assert found.status is None
    assert "unknown" in found.text()


def test_a_machine_without_git_is_no_reason_to_fail(tmp_path: Path) -> None:
    top = repository(tmp_path)
    found = asyncio.run(gather_context(scope(top, PATH=str(tmp_path)))).git
    assert found == GitStatus("trunk", "main", None, "")


def test_git_that_hangs_is_given_up_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    top = repository(tmp_path)
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/pids\nsleep 1000 &\necho $! >> {tmp_path}/pids\nwait\n", "utf-8")
    fake.chmod(0o755)
    path = f"{fake.parent}:{os.environ['PATH']}"
    started = time.monotonic()
    found = asyncio.run(gather_context(scope(top, PATH=path))).git
    assert time.monotonic() - started < LIMIT_SECONDS
    assert found == GitStatus("trunk", "main", None, "")
    pids = [int(line) for line in (tmp_path / "pids").read_text("utf-8").split()]
    assert len(pids) == 4
    deadline = time.monotonic() + LIMIT_SECONDS
    while any(is_running(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_no_program_that_a_repository_names_is_started(tmp_path: Path) -> None:
    top = repository(tmp_path)
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n", "utf-8")
    hook.chmod(0o755)
    git(top, "config", "core.fsmonitor", str(hook))
    asyncio.run(gather_context(scope(top)))
    assert not (tmp_path / "started").exists()


def test_a_gathering_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    top = repository(tmp_path)
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/pids\nexec sleep 1000\n", "utf-8")
    fake.chmod(0o755)

    async def cancelled() -> None:
        task = asyncio.ensure_future(gather_context(scope(top, PATH=f"{fake.parent}:{os.environ['PATH']}")))
        deadline = time.monotonic() + LIMIT_SECONDS
        while not (tmp_path / "pids").exists() or len((tmp_path / "pids").read_text("utf-8").split()) < 2:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not any(is_running(int(pid)) for pid in (tmp_path / "pids").read_text("utf-8").split())


# Words


MACHINE = Machine(Path("/work"), True, "linux", "Linux 6", "bash")


def test_the_opening_says_the_date_and_shows_each_file_of_instructions() -> None:
    files = (
        Instructions(Path("/project/CLAUDE.md"), PROJECT, "be brief"),
        Instructions(Path("/project/b.md"), PROJECT, "b"),
    )
    text = opening_reminder(
        PromptContext(MACHINE, files), date="2026-11-15", sections={"skills": "- verify: see it work", "none": ""}
    )
    assert text.startswith("<system-reminder>\n")
    assert text.endswith("</system-reminder>\n\n")
    order = [
        "# claudeMd\n",
        f"Contents of /project/CLAUDE.md ({PROJECT}):\n\nbe brief\n\n",
        f"Contents of /project/b.md ({PROJECT}):\n\nb\n",
        "# skills\n- verify: see it work\n",
        "# currentDate\nToday's date is 2026-11-15.\n",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "# none" not in text


def test_without_instructions_the_opening_has_only_the_date() -> None:
    text = opening_reminder(PromptContext(MACHINE), date="2026-11-15")
    assert "claudeMd" not in text
    assert "# currentDate\n" in text


def test_the_environment_names_the_folder_the_machine_and_the_model() -> None:
    text = environment_info.environment_section(MACHINE, model="claude-x")
    assert text.splitlines() == [
        " - Working directory: /work",
        " - Is a git repository: true",
        " - Platform: linux",
        " - OS version: Linux 6",
        " - Shell: bash",
        " - Model: claude-x",
    ]


@pytest.mark.parametrize(("value", "is_read"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_agents_md_is_asked_for_by_the_environment(value: str, is_read: bool, tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("agents", "utf-8")
    found = asyncio.run(gather_context(scope(tmp_path, **{environment_info.AGENTS_VARIABLE: value}))).instructions
    assert [file.text for file in found] == (["agents"] if is_read else [])


def test_a_bare_run_reads_no_instructions(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("be brief", "utf-8")
    wanted = scope(tmp_path)
    bare = ContextScope(tmp_path, wanted.config_folder, wanted.environment, reads_instructions=False)
    assert asyncio.run(gather_context(bare)).instructions == ()
    assert [file.text for file in asyncio.run(gather_context(wanted)).instructions] == ["be brief"]
