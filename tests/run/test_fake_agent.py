"""The scripted agent does what its script says: the other tests stand on it."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from tests.run.fixtures.fake_agent import (
    HANG_SECONDS,
    Script,
    all_dead,
    init,
    is_alive,
    result,
    says,
    successful_turn,
    wait_until,
)


def test_it_prints_its_lines_verbatim_notes_its_start_and_exits(tmp_path: Path) -> None:
    agent = successful_turn().err("a word").exit(3).install(tmp_path)
    done = subprocess.run([agent.path, "-p", "hi"], capture_output=True, timeout=HANG_SECONDS, check=False, cwd="/")
    assert done.stdout.decode() == init() + says("done") + result("done")
    assert (done.stderr, done.returncode) == (b"a word", 3)
    assert [(start["argv"][1:], start["cwd"]) for start in agent.starts] == [(["-p", "hi"], "/")]


def test_it_can_print_any_byte(tmp_path: Path) -> None:
    agent = Script().out("\xff\x00\n").install(tmp_path)
    assert subprocess.run([agent.path], capture_output=True, timeout=HANG_SECONDS, check=True).stdout == b"\xff\x00\n"


def test_it_reads_a_line_and_then_all(tmp_path: Path) -> None:
    agent = Script().listen().read_all().listen().install(tmp_path)
    subprocess.run([agent.path], input=b'{"a":1}\nthe rest', timeout=HANG_SECONDS, check=True)
    assert agent.stdin_lines == [{"a": 1}, "the rest", None]


def test_its_daemon_outlives_it_in_a_session_of_its_own(tmp_path: Path) -> None:
    agent = Script().daemon().install(tmp_path)
    subprocess.run([agent.path], timeout=HANG_SECONDS, check=True)
    wait_until(lambda: agent.daemons)
    (daemon,) = agent.daemons
    assert is_alive(daemon)
    subprocess.run(["kill", "-KILL", str(daemon)], check=True)
    wait_until(lambda: all_dead([daemon]))


def test_it_ignores_signals_answers_signals_and_kills_itself(tmp_path: Path) -> None:
    deaf = Script().ignore("SIGTERM").kill("SIGTERM").out("still here").install(tmp_path, "deaf")
    assert subprocess.run([deaf.path], capture_output=True, check=True).stdout == b"still here"
    polite = Script().answer_signal("SIGINT", "bye").kill("SIGINT").sleep().install(tmp_path, "polite")
    done = subprocess.run([polite.path], capture_output=True, check=False)
    assert (done.stdout, done.returncode) == (b"bye", 130)
    dead = Script().kill().install(tmp_path, "dead")
    assert subprocess.run([dead.path], check=False).returncode == -signal.SIGKILL


def test_it_knows_how_often_it_was_started(tmp_path: Path) -> None:
    agent = Script().on_start(1, Script().exit(9)).out("second").install(tmp_path)
    assert subprocess.run([agent.path], check=False).returncode == 9
    assert subprocess.run([agent.path], capture_output=True, check=True).stdout == b"second"
