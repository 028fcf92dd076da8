"""A run under way as a person sees it: live on a terminal, in lines through a pipe, and never harmful to either."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

from tests.cli.fixtures.terminal import plain, terminal
from tests.fixtures.bridle_program import BRIDLE
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, make_project

PLAN = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"
WORKS = "open(task.lower(), 'w').close()"
SECRET = "hunter2-of-the-person"
# The account is used up at the first start, for an hour; and fine at the next.
LIMITED = """
if number == 1:
    show(type="rate_limit_event", rate_limit_info={"status": "rejected", "resetsAt": int(time.time()) + 3600})
    end("success", True, "You've hit your limit")
open(task.lower(), 'w').close()
"""
LOUD = """
words = "\\x1b[2J\\x1b]0;owned\\x07 hunter2-of-the-person \\u202e turned round"
show(type="assistant", parent_tool_use_id=None, message={"id": "m", "role": "assistant", "model": "x", "content": [
    {"type": "text", "text": words},
    {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": words}}]})
answer["summary"] = words
open(task.lower(), 'w').close()
"""


def test_on_a_terminal_the_tasks_stand_at_the_bottom_and_the_receipt_comes_last(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, "time.sleep(0.5)\n" + WORKS)
    with terminal(here, "run") as shown:
        assert shown.end() == 0, shown.seen
    text = plain(shown.seen)
    assert re.search(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] One", text)
    assert "claude, iteration 1" in text
    assert "[1/2] One: iteration 1 (claude)" in text
    assert "check passed: test -f one" in text
    assert re.search(r"iteration 1 of 50 · 0\.0\d+ USD of 20", text)
    assert "✓ PLAN.md: 2 of 2 tasks verified" in text[text.rindex("committed") :]


def test_a_wait_for_a_usage_limit_is_counted_down_and_ended_by_a_key(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, LIMITED)
    with terminal(here, "run") as shown:
        before = shown.modes()
        shown.until(r"waiting for usage limit: One: (1:00:0\d|59:\d\d) left, until \d\d:\d\d; press s to try now")
        shown.press("x")
        shown.press("s")
        code = shown.end()
        after = shown.modes()
    assert code == 0, shown.seen[-2000:]
    assert "wait skipped" in plain(shown.seen)
    assert after == before
    assert [call["task"] for call in here.calls()] == ["One", "One", "Two"]


def test_ctrl_c_gives_the_terminal_back_and_says_how_to_go_on(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, LIMITED)
    with terminal(here, "run") as shown:
        before = shown.modes()
        shown.until("press s to try now")
        shown.press("\x03")
        code = shown.end()
        after = shown.modes()
    assert code == 130
    assert after == before
    assert re.search(r"resume +bridle resume", plain(shown.seen))
    assert shown.seen.rindex("\x1b[?25h") > shown.seen.rindex("\x1b[?25l")  # the cursor is there again


def test_what_an_agent_writes_neither_drives_the_terminal_nor_shows_a_secret(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, LOUD)
    with terminal(here, "run", MY_TOKEN=SECRET) as shown:
        assert shown.end() == 0, shown.seen
    piped = here.bridle("status", MY_TOKEN=SECRET)
    for text in (shown.seen, piped.stdout):
        assert SECRET not in text
        assert "\x1b]0;" not in text
        assert "\x1b[2J" not in text
        assert "\u202e" not in text


def test_in_a_pipe_everything_is_a_line_and_stdout_holds_the_receipt_alone(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, LOUD)
    done = here.bridle("run", MY_TOKEN=SECRET)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("✓ PLAN.md: 2 of 2 tasks verified\n")
    assert "[2/2] Two: iteration 1 (claude)\n" in done.stderr
    assert "      > Bash \\x1b[2J" in done.stderr
    for text in (done.stdout, done.stderr):
        assert all(character.isprintable() or character == "\n" for character in text)
        assert SECRET not in text


def test_in_a_pipe_a_wait_is_reported_once_with_its_end(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, LIMITED)
    child = subprocess.Popen(
        [str(BRIDLE), "run"], cwd=here.folder, env=here.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stderr is not None
    seen = b""
    while b"waiting until" not in seen:
        line = child.stderr.readline()
        assert line, seen.decode()
        seen += line
    child.send_signal(signal.SIGINT)
    _, rest = child.communicate(timeout=LIMIT_SECONDS)
    assert child.returncode == 130
    [said] = [line for line in (seen + rest).decode().splitlines() if "waiting until" in line]
    when = r"\w{3} \d\d \w{3} \d\d:\d\d:\d\d \S+"
    assert re.fullmatch(rf"bridle: waiting until {when} \(usage limit: One\), then continues automatically", said)


def test_a_terminal_that_cannot_be_drawn_on_gets_lines(tmp_path: Path) -> None:
    here = make_project(tmp_path, PLAN, WORKS)
    with terminal(here, "run", TERM="dumb") as shown:
        assert shown.end() == 0
    assert "\x1b" not in shown.seen
    assert "[2/2] Two: iteration 1 (claude)" in shown.seen
    assert "✓ PLAN.md: 2 of 2 tasks verified" in shown.seen


def test_a_run_in_the_background_of_a_terminal_is_not_stopped_by_it(tmp_path: Path) -> None:
    """A shell's job control stops a program that sets the terminal from the background."""
    here = make_project(tmp_path, PLAN, WORKS)
    with terminal(here, "run", program=("bash", "-ic", f"{BRIDLE} run & wait %1; exit $?")) as shown:
        assert shown.end() == 0, shown.seen
    assert "2 of 2 tasks verified" in plain(shown.seen)
