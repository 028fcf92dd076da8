"""A bound session stays bound wherever it goes: the record of the binding leads its Stop hook to file and run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.bridle_program import run_bridle
from tests.hosts.fixtures.hook_project import HOOK, HookResult, Project

PROCESS = "async def process(inputs, ctx):\n    return None\n"
CREATE = ("run:create", "--process-id", "demo", "--entry", "./process.py#process", "--run-id", "r", "--json")
BIND = ("--harness", "claude-code", "--session-id", "s")


class Host:
    """A host whose session changes its folder, with hooks and commands in one environment."""

    def __init__(self, folder: Path) -> None:
        self.project = Project(folder / "work" / "project")
        (self.project.folder / "process.py").write_text(PROCESS, encoding="utf-8")
        (self.project.folder / "src" / "deep").mkdir(parents=True)
        (folder / "elsewhere").mkdir()

    def bridle(self, *words: object, cwd: Path | None = None) -> dict[str, Any]:
        """Run a command in a folder of the session; return its document."""
        done = run_bridle(*words, cwd=cwd or self.project.folder, environment=self.project.environment())
        assert done.returncode == 0, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def stop(self, cwd: Path, *words: str, **variables: str) -> HookResult:
        """Stop the session in a folder: a real hook process, started there."""
        payload = self.project.payload(cwd=str(cwd))
        return self.project.hook(payload, *words, environment=variables, cwd=cwd)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


@pytest.mark.parametrize("place", [".", "..", "../..", "src/deep", "../../elsewhere", "/"])
def test_a_session_is_held_in_every_folder(place: str, host: Host) -> None:
    bound = host.bridle(*CREATE, *BIND)["session"]
    assert (bound["bound"], "warnings" in bound) == (True, False)
    done = host.stop(host.project.folder / place)
    assert done.document["decision"] == "block", done.stderr
    assert f" {host.project.runs / 'r'} " in done.document["reason"]


@pytest.mark.parametrize("place", [".", "..", "../../elsewhere"])
def test_a_run_in_another_folder_of_runs_is_found(place: str, host: Host, tmp_path: Path) -> None:
    bound = host.bridle(*CREATE, *BIND, "--runs-dir", tmp_path / "runs")["session"]
    assert (bound["bound"], "warnings" in bound) == (True, False)
    done = host.stop(host.project.folder / place)
    assert done.document["decision"] == "block", done.stderr
    assert str(tmp_path / "runs" / "r") in done.document["reason"]


def test_a_run_that_was_created_in_a_subfolder_holds_the_session_above_it(host: Host, tmp_path: Path) -> None:
    entry = ("run:create", "--process-id", "demo", "--entry", f"{host.project.folder}/process.py#process", "--json")
    assert host.bridle(*entry, *BIND, cwd=host.project.folder / "src" / "deep")["session"]["bound"]
    for folder in (host.project.folder, host.project.folder.parent, tmp_path / "elsewhere"):
        assert host.stop(folder).document["decision"] == "block"


def test_a_state_folder_that_only_the_command_knew_is_found(host: Host, tmp_path: Path) -> None:
    assert host.bridle(*CREATE, *BIND, "--state-dir", tmp_path / "state")["session"]["bound"]
    assert host.stop(host.project.folder).document["decision"] == "block"
    assert host.stop(tmp_path / "elsewhere", "--state-dir", str(tmp_path / "other")).document["decision"] == "block"


def test_a_run_of_the_same_name_elsewhere_is_not_mistaken_for_it(host: Host, tmp_path: Path) -> None:
    host.bridle(*CREATE, *BIND)
    other = Project(tmp_path / "elsewhere").run("RUN_HALTED")
    done = host.stop(tmp_path / "elsewhere")
    assert done.document["decision"] == "block"
    assert str(other) not in done.document["reason"]


@pytest.mark.parametrize("command", ["associate", "resume"])
def test_the_other_ways_to_bind_hold_as_well(command: str, host: Host, tmp_path: Path) -> None:
    host.bridle(*CREATE, "--runs-dir", tmp_path / "runs")
    session = ("--session-id", "s", "--state-dir", tmp_path / "state")
    if command == "associate":
        host.bridle("session:init", *session, "--json")
    host.bridle(f"session:{command}", *session, "--run-id", "r", "--runs-dir", tmp_path / "runs", "--json")
    assert host.stop(tmp_path / "elsewhere").document["decision"] == "block"


def test_commands_of_the_session_find_its_file_from_everywhere(host: Host, tmp_path: Path) -> None:
    host.bridle(*CREATE, *BIND)
    words = ("--session-id", "s", "--harness", "claude-code", "--json")
    document = host.bridle("session:state", *words, cwd=tmp_path / "elsewhere")
    assert (document["state"]["runId"], document["stateFile"]) == ("r", str(host.project.state / "s.md"))
    assert host.bridle("session:update", *words, "--delete", cwd=tmp_path / "elsewhere")["deleted"]
    assert host.stop(host.project.folder).document == {}
    assert not list((host.project.folder / "home" / "sessions").iterdir())


def test_a_bound_session_cannot_be_bound_again_from_another_folder(host: Host, tmp_path: Path) -> None:
    host.bridle(*CREATE, *BIND)
    entry = ("--entry", f"{host.project.folder}/process.py#process", "--json")
    done = run_bridle(*CREATE[:3], *entry, *BIND, cwd=tmp_path / "elsewhere", environment=host.project.environment())
    assert (done.returncode, "Session already associated with run: r" in done.stderr) == (1, True)
    assert f"bridle run:halt {host.project.runs / 'r'}" in done.stderr
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_run_that_was_moved_is_looked_for(host: Host) -> None:
    host.bridle(*CREATE, *BIND)
    moved = host.project.folder.parent / "moved"
    host.project.folder.rename(moved)
    there = Project(moved)
    done = there.hook(there.payload(cwd=str(moved / "src")))
    assert done.document["decision"] == "block", done.stderr
    assert str(moved / ".a5c/runs/r") in done.document["reason"]


def test_a_session_whose_file_was_removed_is_free(host: Host) -> None:
    host.bridle(*CREATE, *BIND)
    (host.project.state / "s.md").unlink()
    for place in (".", ".."):
        done = host.stop(host.project.folder / place)
        assert (done.document, done.stderr) == ({}, "")


def test_a_binding_that_cannot_be_recorded_is_refused_and_leaves_nothing(host: Host, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    environment = host.project.environment(BRIDLE_HOME=str(tmp_path / "file"))
    done = run_bridle(*CREATE, *BIND, cwd=host.project.folder, environment=environment)
    assert (done.returncode, "Set BRIDLE_HOME to a folder" in done.stderr) == (1, True)
    assert not (host.project.runs / "r").exists()
    assert not (host.project.state / "s.md").exists()


def test_a_session_at_its_limit_is_not_reported_as_bound(host: Host) -> None:
    bound = host.bridle(*CREATE, *BIND, "--max-iterations", "1")["session"]
    assert (bound["bound"], "iteration limit of 1" in bound["error"]) == (False, True)
    assert host.stop(host.project.folder).document == {}


@pytest.mark.parametrize("is_registered", [True, False])
def test_a_session_that_is_neither_this_one_nor_registered_is_not_reported_as_bound(
    is_registered: bool, host: Host
) -> None:
    if is_registered:
        host.project.hook(host.project.payload(), hook_type="session-start")
    environment = host.project.environment(CLAUDE_CODE_SESSION_ID="own")
    done = run_bridle(*CREATE, *BIND, cwd=host.project.folder, environment=environment)
    bound = json.loads(done.stdout)["session"]
    assert (bound["bound"], "the host's session is 'own'" in bound["warnings"][0]) == (is_registered, True)


def test_a_session_at_its_limit_that_is_bound_anew_is_reported(host: Host) -> None:
    host.bridle("session:init", "--session-id", "s", "--max-iterations", "1", "--json")
    host.project.run("")
    words = ("session:associate", "--session-id", "s", "--harness", "claude-code", "--run-id", "r", "--json")
    done = run_bridle(*words, cwd=host.project.folder, environment=host.project.environment())
    assert (done.returncode, "has reached its iteration limit of 1" in done.stderr) == (0, True)


def test_a_record_that_is_damaged_is_ignored(host: Host) -> None:
    host.bridle(*CREATE, *BIND)
    (record,) = (host.project.folder / "home" / "sessions").iterdir()
    for data in (b"", b"\0\0", b"relative\0r\0", os.urandom(80)):
        record.write_bytes(data)
        assert host.stop(host.project.folder).document["decision"] == "block"
        assert host.stop(host.project.folder.parent).document == {}


def test_records_of_removed_sessions_are_cleaned(host: Host) -> None:
    host.bridle(*CREATE, *BIND)
    (host.project.state / "s.md").unlink()
    host.bridle("clean", "--yes", "--json")
    assert not list((host.project.folder / "home" / "sessions").iterdir())


def test_an_inactive_session_adds_one_entry_and_no_more(host: Host, tmp_path: Path) -> None:
    host.bridle(*CREATE, *BIND)
    host.bridle("run:halt", "r", "--reason", "enough", "--json")
    for folder in (host.project.folder, tmp_path / "elsewhere", host.project.folder):
        assert host.stop(folder).document == {}
    events = host.bridle("run:events", "r", "--json")["events"]
    stops = [event["data"]["reason"] for event in events if event["type"] == "STOP_HOOK_INVOKED"]
    assert stops == ["session_inactive"]


def test_a_session_whose_folder_was_deleted_is_held(host: Host, tmp_path: Path) -> None:
    host.bridle(*CREATE, *BIND)
    gone = tmp_path / "gone"
    gone.mkdir()
    deletes_its_folder = ("/bin/sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", *HOOK)
    done = host.project.hook(host.project.payload(cwd=str(gone)), program=deletes_its_folder, cwd=gone)
    assert not gone.exists()
    assert done.document["decision"] == "block", done.stderr


def test_both_ways_to_bind_mark_the_session_for_the_shell_part_of_its_hook(host: Host) -> None:
    host.bridle(*CREATE, *BIND)
    words = ("session:associate", "--session-id", "t", "--harness", "claude-code", "--run-id", "r", "--json")
    host.bridle("session:init", "--session-id", "t", "--json")
    host.bridle(*words)
    state = host.project.folder / ".a5c" / "state"
    assert sorted(path.name for path in state.glob(".*.bound")) == [".s.bound", ".t.bound"]
