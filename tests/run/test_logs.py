"""The log of a run: every byte, under a safe and private name, and what is needed to replay the run from it."""

from __future__ import annotations

import asyncio
import re
import stat
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bridle.errors import DiskError, LockHeld
from bridle.ground.git_exclude import exclude_from_git
from bridle.ground.lock import FileLock
from bridle.run.budget import read
from bridle.run.logs import FOLDER, RunLog
from bridle.run.request import Request
from bridle.run.runner import run
from bridle.run.sessions import session_file
from tests.run.fixtures.agent_runs import logs_of, run_agent
from tests.run.fixtures.fake_agent import HANG_SECONDS, Script, init, result, says, successful_turn

MOMENT = datetime(2026, 11, 15, 2, 46, 55, 123_000, tzinfo=UTC)


def git(*arguments: str, cwd: Path) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@t")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("task", "name"),
    [
        ("fix the login", "fix-the-login"),
        ("../../x", "x"),
        ("a\nb\x00c\x1b[2J", "a-b-c-2J"),
        ("x" * 300, "x" * 60),
        ("...", "unnamed"),
        ("é/ü", "e-u"),
        ("-rf", "rf"),
    ],
)
def test_a_log_has_a_safe_name_whatever_the_task_is_called(tmp_path: Path, task: str, name: str) -> None:
    log = RunLog.create(Request("hi", tmp_path, task=task), MOMENT)
    log.close()
    assert log.path == tmp_path / FOLDER / f"20261115T024655.123Z-coder-{name}.ndjson"


def test_runs_that_begin_in_the_same_millisecond_have_logs_of_their_own(tmp_path: Path) -> None:
    logs = [RunLog.create(Request("hi", tmp_path), MOMENT) for _ in range(3)]
    for number, log in enumerate(logs):
        log.write(b"%d" % number)
        log.close()
    assert [log.path.read_bytes() for log in logs] == [b"0", b"1", b"2"]
    stem = "20261115T024655.123Z-coder-ask"
    assert [log.path.name for log in logs] == [f"{stem}.ndjson", f"{stem}-2.ndjson", f"{stem}-3.ndjson"]


def test_logs_are_for_their_owner_alone(tmp_path: Path) -> None:
    run_agent(successful_turn().install(tmp_path / "bin"), tmp_path)
    files = list((tmp_path / FOLDER).iterdir())
    endings = {path.name.partition("-ask.")[2] for path in files}
    assert (endings, len(files)) == ({"ndjson", "stderr", "times", "meta.json"}, 4)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    folders = (tmp_path / ".ralph", tmp_path / ".ralph/logs", tmp_path / FOLDER)
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}


def test_the_times_lead_through_the_whole_log(tmp_path: Path) -> None:
    script = Script().out(init()).sleep(0.2).out(says("x" * 100_000)).sleep(0.2).out(result())
    log = run_agent(script.install(tmp_path / "bin"), tmp_path).log
    times = log.with_suffix(".times").read_text()
    assert re.fullmatch(r"(\d+ \d+\n)+", times)
    rows = [tuple(map(int, row.split())) for row in times.splitlines()]
    offsets, milliseconds = zip(*rows, strict=True)
    assert list(offsets) == sorted(set(offsets))
    assert list(milliseconds) == sorted(milliseconds)
    assert offsets[-1] == log.stat().st_size
    assert len(init()) in offsets, "a pause of the agent is a row of its own"


def test_the_sidecar_says_what_was_run_and_how_it_ended(tmp_path: Path) -> None:
    agent = successful_turn().exit(0).install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, task="t/1", purpose="for the first of May", resume="abc")
    meta = done.meta
    assert meta["argv"] == agent.starts[0]["argv"]
    moments = {name: meta.pop(name) for name in ("started", "ended", "seconds", "argv", "pid", "sandbox")}
    assert moments["started"] <= moments["ended"]
    assert meta == {
        "agent": "claude",
        "program": str(agent.path),
        "program_found": "BRIDLE_CLAUDE",
        "cwd": str(tmp_path),
        "mode": "coder",
        "task": "t/1",
        "purpose": "for the first of May",
        "model": None,
        "driver": None,
        "driver_seconds": 0.0,
        "attempt": 1,
        "auth": "login",
        "permission_mode": "default",
        "prompt": "hello",
        "permissions_bypassed": False,
        "policy": "harness",
        "hang_heuristic": True,
        "background_heuristic": True,
        "denials_fail": True,
        "expected_session": "abc",
        "exit_code": 0,
        "timed_out": False,
        "ended_by_us": False,
        "killed_after_result": False,
        "limit": None,
        "limit_seconds": None,
        "fault": None,
        "fault_category": None,
        "corrections": 0,
        "agent_version": "2.1.197",
        "session_id": done.finished.record.session_id,
        "reported_permission_mode": "default",
    }


@pytest.mark.parametrize("part", [".ralph", ".ralph/logs", ".ralph/logs/claude", ".ralph/state"])
def test_a_link_that_would_lead_our_files_away_is_refused(tmp_path: Path, part: str) -> None:
    outside, work = tmp_path / "outside", tmp_path / "work"
    outside.mkdir()
    (work / part).parent.mkdir(parents=True)
    (work / part).symlink_to(outside)
    agent = successful_turn().install(tmp_path / "bin")
    with pytest.raises(DiskError, match=f"{part} is a link"):
        run_agent(agent, work)
    assert not agent.starts
    assert not list(outside.iterdir())


def test_our_folder_stays_out_of_commits_and_the_users_own_list_is_kept(tmp_path: Path) -> None:
    git("init", "-q", cwd=tmp_path)
    exclude = tmp_path / ".git/info/exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("*.own")
    agent = successful_turn().install(tmp_path / ".git/agents")
    run_agent(agent, tmp_path)
    run_agent(agent, tmp_path)
    assert exclude.read_text() == "*.own\n.ralph/\n.a5c/\n"
    assert git("status", "--porcelain", cwd=tmp_path) == ""
    assert not (tmp_path / ".gitignore").exists()


def test_a_worktree_and_a_folder_below_are_kept_clean_too(tmp_path: Path) -> None:
    repository, tree = tmp_path / "repository", tmp_path / "tree"
    repository.mkdir()
    git("init", "-q", cwd=repository)
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=repository)
    git("worktree", "add", "-q", str(tree), cwd=repository)
    below = tree / "src"
    below.mkdir()
    agent = successful_turn().install(tmp_path / "bin")
    run_agent(agent, tree)
    run_agent(agent, below)
    assert logs_of(below)
    assert git("status", "--porcelain", cwd=tree) == ""
    assert ".ralph/" in (repository / ".git/info/exclude").read_text().splitlines()


@pytest.mark.parametrize("text", ["", "garbage", "gitdir: /nonexistent"])
def test_a_git_file_that_leads_nowhere_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)
    exclude_from_git(tmp_path)
    assert (tmp_path / ".git").read_text() == text


@pytest.mark.parametrize("broken", ["info", "info/exclude"])
def test_a_repository_whose_list_cannot_be_written_is_reported_and_the_run_goes_on(tmp_path: Path, broken: str) -> None:
    path = tmp_path / ".git" / broken
    path.parent.mkdir(parents=True)
    path.mkdir() if broken.endswith("exclude") else path.write_text("not a folder")
    done = run_agent(successful_turn().install(tmp_path / "bin"), tmp_path)
    assert done.finished.outcome.succeeded_cleanly
    (line,) = (line for line in done.messages if "git will show .ralph/" in line)
    assert str(tmp_path / ".git/info/exclude") in line


def test_a_second_run_in_a_workspace_is_refused_with_the_holders_name(tmp_path: Path) -> None:
    agent = successful_turn().install(tmp_path / "bin")
    folder = tmp_path / ".ralph/state"
    folder.mkdir(parents=True)
    with FileLock.hold(folder / "workspace.lock", holder="bridle coder first"):
        with pytest.raises(LockHeld, match="bridle coder first"):
            run_agent(agent, tmp_path)
        assert not agent.starts
        assert run_agent(agent, tmp_path, own_folder=True).finished.outcome.succeeded_cleanly
    assert run_agent(agent, tmp_path).finished.outcome.succeeded_cleanly


def test_agents_in_lent_folders_keep_their_logs_and_their_cost_in_the_workspace(tmp_path: Path) -> None:
    agent = Script().until(tmp_path / "go").out(init(), says("done"), result()).install(tmp_path / "bin")
    folders = [tmp_path / f"lent-{number}" for number in range(8)]
    home = tmp_path / "home"
    for folder in (*folders, home):
        folder.mkdir()

    async def all_at_once() -> None:
        asked = [Request("hello", folder, own_folder=True, home=home) for folder in folders]
        runs = [asyncio.create_task(run(one, environment=agent.environment())) for one in asked]
        async with asyncio.timeout(HANG_SECONDS):
            while len(agent.starts) < len(runs):
                await asyncio.sleep(0.01)
        (tmp_path / "go").touch()
        await asyncio.gather(*runs)

    asyncio.run(all_at_once())
    assert len(logs_of(home)) == len(folders)
    assert not any(list(folder.iterdir()) for folder in folders)
    assert read(home).iterations == len(folders)
    assert read(home).total_cost_usd == 0.25 * len(folders)
    assert not session_file(home).exists()
