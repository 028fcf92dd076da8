"""The Stop hook among others: many at once, beside those who post results, killed anywhere, and kept waiting."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bridle.ground.lock import FileLock
from bridle.hosts.sessions import session_file
from bridle.journal.format import layout
from bridle.journal.format.state import COMPLETED, fold
from bridle.journal.stores.file_store import FileStore
from tests.fixtures.bridle_program import BRIDLE
from tests.hosts.fixtures.hook_project import (
    HOOK,
    LIMIT_SECONDS,
    PROOF,
    Project,
    append_entries,
    entries,
    session_of,
    stop_entries,
    write_payload,
)

Report = Callable[[str, object], None]

ROOT = Path(__file__).parents[3]
HOOKS = 16
POSTS = 8

# Where a hook must have been killed for the test to mean anything; the pattern is that of the recorder's lines.
NAMED_POINTS = {
    "the session's lock is taken": r"write \S+/\.s\.lock$",
    "the run's lock is taken": r"write \S+/bridle\.lock$",
    "the session's file is written": r"write \S+/state/\.bridle-\w+\.tmp$",
    "the session's file is synced": r"sync \S+/state/\.bridle-\w+\.tmp$",
    "the session's file is named": r"rename \S+ -> \S+/s\.md$",
    "the session's folder is synced": r"sync \S+/\.a5c/state$",
    "the entry is written": r"write \S+/r/\.bridle-\w+\.tmp$",
    "the entry is synced": r"sync \S+/r/\.bridle-\w+\.tmp$",
    "the entry is named": r"rename \S+ -> \S+/journal/000003\.\w+\.json$",
    "the journal is synced": r"sync \S+/journal$",
    "the journal is marked": r"utime \S+/journal$",
    "the pack grows": r"write \S+/state/bridle\.pack$",
    "the run's lock is let go": r"truncate \S+/bridle\.lock$",
    "the session's lock is let go": r"truncate \S+/\.s\.lock$",
}


def bound(folder: Path, words: str = "ask:a/agent") -> tuple[Project, Path, Path]:
    project = Project(folder)
    return project, project.run(words), project.session()


def killed_at(project: Project, pattern: str | None) -> list[str]:
    """Kill a hook before the last change that the pattern means; without one let it end. Gives its changes."""
    command = [sys.executable, "-m", "tests.hosts.fixtures.hook_kill_points", str(project.folder)]
    pipe = subprocess.PIPE
    reached: list[str] = []
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        while line := process.stderr.readline().strip():
            reached.append(line)
            if pattern is not None and re.search(pattern, line):
                process.send_signal(signal.SIGKILL)
                break
            process.stdin.write("on\n")
            process.stdin.flush()
        process.wait(LIMIT_SECONDS)
    assert process.returncode == (0 if pattern is None else -signal.SIGKILL), reached
    return reached


def test_killed_at_every_named_point_the_session_is_held_by_the_next_hook(
    tmp_path: Path, record_property: Report
) -> None:
    points = killed_at(bound(tmp_path / "undisturbed")[0], None)
    for number, (name, pattern) in enumerate(NAMED_POINTS.items()):
        assert any(re.search(pattern, line) for line in points), f"the hook never came to the point where {name}"
        project, run, path = bound(tmp_path / str(number))
        killed_at(project, pattern)
        counted, told = session_of(path).iteration - 3, len(stop_entries(run))
        assert (counted, told) in ((0, 0), (1, 0), (1, 1)), name

        done = project.stop()

        assert (done.document["decision"], done.stderr) == ("block", ""), name
        assert (session_of(path).iteration - 3, len(stop_entries(run))) == (counted + 1, told + 1), name
        assert [file for file in os.listdir(run) if file.startswith(".bridle-")] == [], "the next writer cleans up"
        append_entries(run, "ok:a completed")
        project.say(f"<promise>{PROOF}</promise>")
        assert project.stop().document == {}
        assert (stop_entries(run)[-1]["reason"], session_of(path).active) == ("completion_proof_matched", False)
    record_property("count", f"Stop hook: killed at {len(NAMED_POINTS)} named points")


def test_sixteen_hooks_beside_those_who_post_lose_nothing(tmp_path: Path, record_property: Report) -> None:
    names = [f"e{number}" for number in range(POSTS)]
    project, run, path = bound(tmp_path, " ".join(f"ask:{name}/agent" for name in names))
    before = len(entries(run))
    payload = project.payload()
    words = ["--status", "ok", "--value-inline", "1", "--json"]
    hooks, posts = [], []
    for number in range(HOOKS):
        hooks.append(project.start())
        if number < POSTS:
            post = [str(BRIDLE), "task:post", str(run), names[number], *words]
            posts.append(
                subprocess.Popen(post, env=project.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            )
    for hook in hooks:
        write_payload(hook, payload)
    for hook in hooks:
        stdout, stderr = hook.communicate(timeout=LIMIT_SECONDS)
        assert (json.loads(stdout)["decision"], stderr) == ("block", b"")
    for process in posts:
        stdout, stderr = process.communicate(timeout=LIMIT_SECONDS)
        assert (process.returncode, stderr) == (0, b""), stdout
    written = entries(run)
    assert [entry.seq for entry in written] == list(range(1, before + HOOKS + POSTS + 1))
    assert len(fold(written).resolved) == POSTS
    assert sorted(entry["iteration"] for entry in stop_entries(run)) == list(range(3, 3 + HOOKS)), "each counted once"
    assert session_of(path).iteration == 3 + HOOKS
    record_property("count", f"Stop hook: {HOOKS} at once beside {POSTS} posts, {len(written)} entries")


def test_sessions_of_one_project_do_not_know_of_each_other(tmp_path: Path) -> None:
    project = Project(tmp_path)
    runs = {name: project.run("ask:a/agent", run_id=f"run-{name}") for name in "xyz"}
    paths = {name: project.session(name, run_id=f"run-{name}") for name in "xyz"}
    hooks = {name: project.start() for name in "xyzabc"}
    for name, hook in hooks.items():
        stdout, stderr = hook.communicate(json.dumps(project.payload(name)).encode(), timeout=LIMIT_SECONDS)
        assert ("decision" in json.loads(stdout), stderr) == (name in "xyz", b"")
    for name, run in runs.items():
        assert [entry["sessionId"] for entry in stop_entries(run)] == [name]
        assert session_of(paths[name]).iteration == 4
    assert sorted(path.name for path in project.state.glob("*.md")) == ["x.md", "y.md", "z.md"]


def test_who_keeps_a_hook_waiting_is_waited_for_no_longer_than_the_limit(tmp_path: Path) -> None:
    ours, our_run, our_path = bound(tmp_path / "ours")
    theirs, their_run, their_path = bound(tmp_path / "theirs")
    silent, silent_run, silent_path = bound(tmp_path / "silent")
    note = {"pid": os.getpid(), "owner": "runtime:orchestrateIteration"}
    (their_run / layout.FOREIGN_LOCK_FILE).write_text(json.dumps(note), encoding="utf-8")
    before = our_path.read_bytes()
    with FileLock.hold(our_run / layout.LOCK_FILE, holder="a stuck command"):
        hooks = {name: project.start() for name, project in (("ours", ours), ("theirs", theirs), ("silent", silent))}
        waiting = hooks["silent"]
        assert waiting.stdin is not None
        waiting.stdin.write(json.dumps(silent.payload()).encode())
        waiting.stdin.flush()  # and never closed
        write_payload(hooks["ours"], ours.payload())
        write_payload(hooks["theirs"], theirs.payload())
        for name in ("ours", "theirs"):
            stdout, stderr = hooks[name].communicate(timeout=LIMIT_SECONDS)
            assert json.loads(stdout) == {}
            assert b"cannot be read, so it may stop" in stderr
            assert (b"a stuck command" if name == "ours" else str(os.getpid()).encode()) in stderr
    waiting.wait(LIMIT_SECONDS)
    assert waiting.stdout is not None
    assert json.loads(waiting.stdout.read())["decision"] == "block", "what was said by then is answered"
    waiting.communicate(timeout=LIMIT_SECONDS)
    assert our_path.read_bytes() == their_path.read_bytes() == before
    assert (stop_entries(our_run), stop_entries(their_run), len(stop_entries(silent_run))) == ([], [], 1)
    assert session_of(silent_path).iteration == 4


@pytest.mark.parametrize("moment", [978_307_200, 2_145_916_799], ids=["back-to-2001", "ahead-to-2037"])
def test_a_clock_that_steps_breaks_neither_the_order_nor_the_durations(moment: int, tmp_path: Path) -> None:
    project, run, path = bound(tmp_path)
    entry = (
        f"import sys, time; sys.path.append({str(ROOT / 'src')!r}); time.time_ns = lambda: {moment}_000_000_000\n"
        "from bridle.hosts.hooks.entry_point import start; start(sys.argv[1:])"
    )
    for program in ((sys.executable, "-I", "-S", "-c", entry), HOOK):
        assert project.stop(program=program).document["decision"] == "block"
    ulids = [one.ulid for one in entries(run)]
    assert ulids == sorted(set(ulids))
    assert session_of(path).iteration == 5
    assert all(seconds > 0 for seconds in session_of(path).iteration_times)


def test_a_session_that_is_bound_anew_in_between_is_let_through(tmp_path: Path) -> None:
    project, run, path = bound(tmp_path)
    project.run("ask:a/agent", run_id="other")
    with FileLock.hold(run / layout.LOCK_FILE, holder="somebody at work"):
        hook = project.start()
        write_payload(hook, project.payload())
        until(lambda: b"hook:run stop" in (path.parent / ".s.lock").read_bytes(), "the hook has the session's lock")
        file = session_file.read(path)
        assert file is not None
        session_file.write(file.with_session(file.session.changed(run_id="other")))
    stdout, stderr = hook.communicate(timeout=LIMIT_SECONDS)
    assert (json.loads(stdout), b"another run" in stderr) == ({}, True)
    assert stop_entries(run) == stop_entries(project.runs / "other") == []
    assert (session_of(path).run_id, session_of(path).iteration) == ("other", 3)


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        try:
            if holds():
                return
        except FileNotFoundError:
            pass
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def test_a_run_that_completes_while_its_hook_waits_is_seen_as_completed(tmp_path: Path) -> None:
    project, run, _ = bound(tmp_path)
    with FileStore(run).write("the last iteration") as writer:
        hook = project.start()
        write_payload(hook, project.payload(last_assistant_message=f"<promise>{PROOF}</promise>"))
        writer.append("RUN_COMPLETED", {})
    stdout, stderr = hook.communicate(timeout=LIMIT_SECONDS)
    assert (json.loads(stdout), stderr) == ({}, b"")
    assert (stop_entries(run)[-1]["reason"], stop_entries(run)[-1]["runState"]) == (
        "completion_proof_matched",
        COMPLETED,
    )
