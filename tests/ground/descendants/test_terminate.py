from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.ground.descendants import census, terminate
from bridle.ground.descendants.census import TOKEN_VARIABLE, Census, Entry
from bridle.ground.descendants.terminate import ProcessRef
from bridle.ground.ids import new_token

# A test that waits longer than this for a process to come or go has failed.
HANG_SECONDS = 30

# Starts a daemon (double fork, session of its own, no parent left) that writes its pid, and then sleeps.
AGENT_WITH_DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() > 0:
        os._exit(0)
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    time.sleep(600)
os.wait()
time.sleep(600)
"""


def eventually(claim: Callable[[], bool]) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while not claim():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    entry = census.find_process(pid)
    return entry is not None and entry.is_alive


@contextmanager
def process(*command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, env={**os.environ, **environment}, start_new_session=True) as started:
        try:
            yield started
        finally:
            started.kill()


@contextmanager
def agent_with_daemon(folder: Path, token: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    note = folder / token
    with process(sys.executable, "-c", AGENT_WITH_DAEMON, str(note), **{TOKEN_VARIABLE: token}) as agent:
        eventually(note.exists)
        daemon = int(note.read_text())
        try:
            yield agent, daemon
        finally:
            if is_alive(daemon):
                os.kill(daemon, signal.SIGKILL)


def pids(victims: list[ProcessRef]) -> set[int]:
    return {victim.pid for victim in victims}


def test_a_daemon_among_twenty_other_agents_is_found_and_only_the_right_ones_end(tmp_path: Path) -> None:
    tokens = [new_token() for _ in range(21)]
    with ExitStack() as stack:
        agents = [stack.enter_context(agent_with_daemon(tmp_path, token)) for token in tokens]
        (agent, daemon), *others = agents
        assert pids(terminate.find(tokens[0], None)) == {agent.pid, daemon}
        ended = terminate.end_all(tokens[0], agent.pid, grace_seconds=5)
        assert pids(ended) == {agent.pid, daemon}
        assert not is_alive(agent.pid)
        assert not is_alive(daemon)
        assert all(is_alive(other.pid) and is_alive(other_daemon) for other, other_daemon in others)


def test_a_process_without_the_token_is_found_below_the_root() -> None:
    script = f"env -u {TOKEN_VARIABLE} setsid sleep 600 & echo $!; wait"
    token = new_token()
    with subprocess.Popen(
        ["sh", "-c", script], env={**os.environ, TOKEN_VARIABLE: token}, stdout=subprocess.PIPE, text=True
    ) as root:
        assert root.stdout is not None
        bare = int(root.stdout.readline())
        eventually(lambda: (entry := census.find_process(bare)) is not None and entry.name == "sleep")
        assert census.take()[bare].tokens == ()
        assert pids(terminate.end_all(token, root.pid, grace_seconds=5)) >= {root.pid, bare}
        eventually(lambda: not is_alive(bare))


def test_a_run_inside_a_run_belongs_to_both_tokens() -> None:
    outer, inner = new_token(), new_token()
    with process("sleep", "600", **{TOKEN_VARIABLE: f"{outer}:{inner}"}) as nested:
        eventually(lambda: pids(terminate.find(outer, None)) == {nested.pid})
        assert pids(terminate.find(inner, None)) == {nested.pid}
        assert terminate.find(f"{outer}:{inner}", None) == []
        assert terminate.find(outer[:-1], None) == []


def test_one_that_ignores_sigterm_is_killed_and_a_stopped_one_too(tmp_path: Path) -> None:
    token = new_token()
    stubborn = "trap '' TERM; : >\"$0\"; while :; do sleep 0.1; done"
    with (
        process("sh", "-c", stubborn, str(tmp_path / "deaf"), **{TOKEN_VARIABLE: token}) as deaf,
        process("sleep", "600", **{TOKEN_VARIABLE: token}) as stopped,
    ):
        eventually((tmp_path / "deaf").exists)
        stopped.send_signal(signal.SIGSTOP)
        assert pids(terminate.end_all(token, None, grace_seconds=0.3)) >= {deaf.pid, stopped.pid}
        assert deaf.wait(HANG_SECONDS) == -signal.SIGKILL
        assert stopped.wait(HANG_SECONDS) == -signal.SIGTERM


def test_children_that_keep_forking_are_swept_up() -> None:
    token = new_token()
    busy = "while :; do setsid sleep 600 & sleep 0.01; done"
    with process("sh", "-c", busy, **{TOKEN_VARIABLE: token}):
        eventually(lambda: len(terminate.find(token, None)) > 5)
        assert len(terminate.end_all(token, None, grace_seconds=0)) > 5
        assert terminate.find(token, None) == []


def test_one_empty_look_is_enough_only_where_nothing_that_could_be_of_the_run_was_in_motion() -> None:
    def look(*entries: Entry, unread: tuple[int, ...] = (), has_missed: bool = False) -> Census:
        found = Census()
        found.update({entry.pid: entry for entry in entries})
        found.has_missed, found.unread = has_missed, frozenset(unread)
        return found

    root, roots = Entry(5, 1, 100.0, "agent", False, ()), {5: 100.0}
    older, younger = Entry(2, 1, 90.0, "older", True, ()), Entry(9, 1, 100.0, "younger", True, ())
    ended = Entry(9, 1, 101.0, "ended", False, ())
    assert terminate.is_conclusive(look(root, older, younger, unread=(2,)), roots)
    assert not terminate.is_conclusive(look(root, older), None), "the root may still start something"
    assert not terminate.is_conclusive(look(root, older, has_missed=True), roots), "one ended before its turn"
    assert not terminate.is_conclusive(look(root, younger, unread=(9,)), roots), "one may be in an exec"
    assert not terminate.is_conclusive(look(root, ended), roots), "one may have started another before it ended"
    assert not terminate.is_conclusive(Census(), roots), "a census that cannot tell what it missed"


def test_a_look_tells_of_those_that_show_no_environment() -> None:
    with process("sleep", "600") as plain, subprocess.Popen(["sleep", "600"], env={}) as bare:
        try:
            eventually(lambda: (entry := census.find_process(bare.pid)) is not None and entry.name == "sleep")
            assert bare.pid in census.take().unread
            assert plain.pid not in census.take().unread
        finally:
            bare.kill()


def test_a_zombie_does_not_count_as_alive() -> None:
    token = new_token()
    with process("true", **{TOKEN_VARIABLE: token}) as done:
        eventually(lambda: (entry := census.find_process(done.pid)) is not None and not entry.is_alive)
        assert terminate.find(token, done.pid) == []
        assert terminate.end_all(token, done.pid, grace_seconds=5) == []


def test_a_reused_pid_is_never_signalled() -> None:
    with process("sleep", "600") as stranger:
        entry = census.find_process(stranger.pid)
        assert entry is not None
        earlier = ProcessRef(stranger.pid, entry.create_time - 1, "gone long ago")
        terminate.signal_all([earlier], signal.SIGKILL)
        assert terminate.end_all(new_token(), None, grace_seconds=0, known=[earlier]) == []
        assert is_alive(stranger.pid)
        same = ProcessRef(stranger.pid, entry.create_time, "sleep")
        assert terminate.end_all(new_token(), None, grace_seconds=0, known=[same]) == [same]
        assert stranger.wait(HANG_SECONDS) == -signal.SIGKILL


def test_signalling_one_that_is_gone_is_no_error() -> None:
    with process("true") as done:
        done.wait(HANG_SECONDS)
    terminate.signal_all([ProcessRef(done.pid, 1.0, "true")], signal.SIGKILL)


def test_we_and_our_ancestors_are_spared_even_with_the_token_in_our_environment() -> None:
    token = new_token()
    code = (
        "import sys, os\nfrom bridle.ground.descendants import terminate\n"
        "assert terminate.end_all(sys.argv[1], os.getppid(), grace_seconds=0) == []\nprint('alive')"
    )
    # The shell is the parent and has the token too; the second command keeps it from replacing itself.
    command = ["sh", "-c", '"$0" -c "$1" "$2"; echo parent alive', sys.executable, code, token]
    done = subprocess.run(
        command, env={**os.environ, TOKEN_VARIABLE: token}, capture_output=True, text=True, timeout=HANG_SECONDS
    )
    assert (done.stdout, done.stderr) == ("alive\nparent alive\n", "")


def test_a_name_with_parentheses_and_spaces_is_read_right(tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    program.symlink_to("/bin/sleep")
    with process(str(program), "600") as odd:
        eventually(lambda: (entry := census.find_process(odd.pid)) is not None and entry.name == "a) R 1 (b")
        entry = census.find_process(odd.pid)
        assert entry is not None
        assert entry.parent == os.getpid()


def test_those_who_ask_at_the_same_time_all_see_what_was_there_before_they_asked() -> None:
    token = new_token()
    with process("sleep", "600", **{TOKEN_VARIABLE: token}) as one:
        eventually(lambda: pids(terminate.find(token, None)) == {one.pid})
        seen: list[set[int]] = []
        askers = [threading.Thread(target=lambda: seen.append(pids(terminate.find(token, None)))) for _ in range(30)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join(HANG_SECONDS)
        assert seen == [{one.pid}] * 30


@pytest.mark.skipif(sys.platform != "linux", reason="compares two ways of looking, and only Linux has both")
def test_the_portable_census_finds_the_same_process_and_token() -> None:
    token = new_token()
    code = (
        "import sys, os, psutil; sys.platform = 'elsewhere'\n"
        "del os.pidfd_open\n"
        "from bridle.ground.descendants import terminate\n"
        "print([victim.pid for victim in terminate.end_all(sys.argv[1], None, grace_seconds=5)])"
    )
    with process("sleep", "600", **{TOKEN_VARIABLE: token}) as one:
        command = [sys.executable, "-c", code, token]
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
        assert (done.stdout, done.stderr) == (f"[{one.pid}]\n", "")
        assert one.wait(HANG_SECONDS) == -signal.SIGTERM


@given(st.data())
def test_in_any_tree_exactly_the_marked_and_what_is_below_them_are_chosen(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 25))
    parents = {pid: data.draw(st.integers(1, pid - 1)) for pid in range(2, count + 2)}
    marked = data.draw(st.sets(st.sampled_from(sorted(parents)), max_size=4))
    entries = {1: Entry(1, 0, 1.0, "init", True, ())}
    for pid, parent in parents.items():
        entries[pid] = Entry(pid, parent, float(pid), "x", True, ("ours",) if pid in marked else ("theirs",))
    ourselves = data.draw(st.sampled_from(sorted(parents)))
    line = _line(parents, ourselves)
    chosen = terminate.select(entries, ["ours"], roots=(), known=(), ourselves=ourselves)
    # Below a marked process, unless one of ours stands between.
    expected = {pid for pid in parents if _reaches(parents, pid, marked, line)}
    assert pids(chosen) == expected


def _line(parents: dict[int, int], pid: int) -> set[int]:
    line = set()
    while pid in parents:
        line.add(pid)
        pid = parents[pid]
    return line


def _reaches(parents: dict[int, int], pid: int, marked: set[int], spared: set[int]) -> bool:
    while pid in parents and pid not in spared:
        if pid in marked:
            return True
        pid = parents[pid]
    return False
