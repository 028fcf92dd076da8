"""`bridle top` as a user starts it: in a terminal, in a pipe, without its package, inside an agent."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.cli.fixtures.machine_commands import bridle
from tests.cli.fixtures.open_breakpoint import asking
from tests.fixtures.bridle_program import BRIDLE, LIMIT_SECONDS, read_until
from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import ONE_TASK


@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}])
@pytest.mark.parametrize("size", [(24, 80), (40, 120)])
def test_the_program_shows_a_run_and_quits(tmp_path: Path, size: tuple[int, int], variables: dict[str, str]) -> None:
    asking(tmp_path, "r1")
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", **variables}
    child = subprocess.Popen(
        [str(BRIDLE), "top"],
        cwd=tmp_path,
        env=environment,
        stdin=side,
        stdout=side,
        stderr=side,
        start_new_session=True,
    )
    os.close(side)
    try:
        printed = read_until(main, "1 needs you")
        printed += read_until(main, "quit")
        os.write(main, b"a")
        printed += read_until(main, "Ship it?")
        printed += read_until(main, "Cancel")
        os.write(main, b"\x1b")
        os.write(main, b"\x1b[O")  # the terminal lost the focus; ends the escape above
        os.write(main, b"q")
        printed += read_until(main, "\x1b[?1049l")
        assert child.wait(LIMIT_SECONDS) == 0
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait(LIMIT_SECONDS)
        os.close(main)
    if variables:
        colours = set(re.findall(r"\x1b\[([0-9;]*)m", printed))
        assert all(set(code.split(";")) <= {"", "0", "1", "2", "3", "4", "7", "39", "49"} for code in colours), colours
    assert bridle("answer", "--json", cwd=tmp_path).document["questions"], "nothing was decided"


def test_json_is_one_document_of_what_would_be_shown(tmp_path: Path) -> None:
    effect = asking(tmp_path, "r1")
    done = bridle("top", "--json", cwd=tmp_path)
    assert (done.code, done.stderr) == (0, "")
    (card,) = done.document["runs"]
    assert (card["run"], card["state"]) == ("r1", "waiting")
    (need,) = done.document["needs"]
    assert (need["effect"], need["payload"]) == (effect, {"question": "Ship it?"})


def test_all_runs_of_the_machine_are_shown_on_request(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        (folder / ".git").mkdir(parents=True)
        asking(folder, folder.name)
    assert [card["run"] for card in bridle("top", "--json", cwd=here).document["runs"]] == ["here"]
    shown = bridle("top", "--all", "--json", cwd=here).document["runs"]
    assert {card["run"] for card in shown} >= {"here", "there"}


def test_without_a_terminal_it_says_what_to_do(tmp_path: Path) -> None:
    done = bridle("top", cwd=tmp_path)
    assert done.code == 2
    assert "bridle top --json" in done.stderr


def test_without_its_package_it_names_the_extra(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['textual'] = None\n"
        "import bridle.cli.user_interface.terminal as terminal\n"
        "terminal.is_terminal = lambda stream: True\n"
        "from bridle.cli.main import run\nsys.exit(run(['top']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )
    assert done.returncode == 2
    assert "pip install 'bridle-cli[top]'" in done.stderr


def test_inside_an_agent_it_is_refused(tmp_path: Path) -> None:
    agent = f"""
    import pty, subprocess
    main, side = pty.openpty()
    streams = {{"stdin": side, "stdout": side, "stderr": side}}
    done = subprocess.run([{str(BRIDLE)!r}, "top"], env={{**os.environ, "TERM": "xterm"}}, **streams)
    text = os.read(main, 100000).decode()
    open("seen", "w").write(json.dumps([done.returncode, text]))
    open("one", "w").close()
    """
    here = make_project(tmp_path, ONE_TASK, agent)
    assert here.bridle("run", "PLAN.md", "--sandbox", "off").returncode == 0
    code, text = json.loads(here.git("show", "HEAD:seen"))
    assert code == 2
    assert "steers a run" in text
