"""`bridle show` as a person starts it: a real process, real files, a real terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bridle.run.log_meta import mark_lost
from tests.fixtures.bridle_program import BRIDLE, read_until
from tests.wire.fixtures.conversations import RECORDINGS, assistant_line, result, result_line, text, use, user_line

PROGRAM = [str(BRIDLE), "show"]
GOLDEN = Path(__file__).parents[3] / "views" / "terminal" / "golden"
# A process that has not answered by then hangs: starting takes well under a second on an idle machine.
LIMIT_SECONDS = 60
# The last lines of a log that has none.
NO_RESULT = "\n── ✗ the log ends without a result\n"


def show(
    *arguments: str, cwd: Path | None = None, stdin: bytes = b"", **variables: str
) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, **variables}
    return subprocess.run(
        [*PROGRAM, *arguments], cwd=cwd, input=stdin, env=environment, capture_output=True, timeout=LIMIT_SECONDS
    )


@contextmanager
def started(*arguments: str, cwd: Path | None = None, **streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A running `bridle show`, killed at the end if it has not ended."""
    streams = {"stdout": subprocess.PIPE, **streams}
    with subprocess.Popen([*PROGRAM, *arguments], cwd=cwd, **streams) as shown:
        try:
            yield shown
        finally:
            shown.kill()


def recording(name: str) -> str:
    return str(RECORDINGS / f"{name}.ndjson")


@pytest.mark.parametrize("name", ["12-subagent", "03-parallel-tools", "05-permission-denied"])
def test_a_pipe_gets_the_plain_picture_whatever_the_terminal_would_be(name: str) -> None:
    done = show(recording(name), COLUMNS="40", TERM="xterm-256color")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def test_standard_input_and_a_file_look_the_same() -> None:
    data = (RECORDINGS / "12-subagent.ndjson").read_bytes()
    assert show("-", stdin=data).stdout == show(recording("12-subagent")).stdout
    assert show("-", "--follow", stdin=data).returncode == 0


def test_last_is_the_newest_log_of_this_folder(tmp_path: Path) -> None:
    logs = tmp_path / ".ralph" / "logs" / "claude"
    logs.mkdir(parents=True)
    for age, words in enumerate(("newest", "older")):
        path = logs / f"{words}.ndjson"
        path.write_text(json.dumps(assistant_line(text(words))))
        os.utime(path, (1000 - age, 1000 - age))
    assert show(cwd=tmp_path).stdout.startswith("● newest\n".encode())
    assert show("last", cwd=tmp_path).stdout.startswith("● newest\n".encode())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], b"no log in .ralph/logs/claude"),
        (["missing.ndjson"], b"cannot read missing.ndjson: No such file"),
        (["."], b"is a folder"),
        (["x" * 5000], b"File name too long"),
        (["-", "--json", "--follow"], b"--follow"),
        (["-", "--agent", "nobody"], b"nobody"),
    ],
)
def test_what_cannot_be_shown_is_reported_and_the_exit_code_is_2(
    arguments: list[str], words: bytes, tmp_path: Path
) -> None:
    done = show(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert words in done.stderr
    assert b"Traceback" not in done.stderr


def test_another_agent_s_log_is_shown_in_the_same_way() -> None:
    lines = (
        {"type": "thread.started", "thread_id": "t"},
        {
            "type": "item.started",
            "item": {"id": "i", "type": "command_execution", "command": "ls", "status": "in_progress"},
        },
        {
            "type": "item.completed",
            "item": {
                "id": "i",
                "type": "command_execution",
                "command": "ls",
                "aggregated_output": "a.py",
                "exit_code": 0,
            },
        },
        {"type": "item.completed", "item": {"id": "j", "type": "agent_message", "text": "One file."}},
        {"type": "turn.completed", "usage": {"input_tokens": 7, "cached_input_tokens": 0, "output_tokens": 3}},
    )
    shown = show("-", "--agent", "codex", stdin="\n".join(map(json.dumps, lines)).encode()).stdout.decode()
    assert "[ok]\n  a.py\n\n● One file.\n\n── ✓ finished" in shown
    assert "7 tokens in, 3 out" in shown


def test_json_is_one_document_and_nothing_else() -> None:
    done = show(recording("05-permission-denied"), "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    document = json.loads(done.stdout)
    assert [item["state"] for item in document["items"] if item["type"] == "call"] == ["denied"] * 3 + ["ok"]
    assert document["items"][-1]["cost_usd"] == 0.005


def test_anything_that_could_be_read_exits_0() -> None:
    assert show("-", stdin=b"").returncode == 0
    done = show("-", stdin=b'words\n{"type":"assist\n\xff\xfe\x00\n')
    assert done.returncode == 0
    assert "stray line › words" in done.stdout.decode()
    assert "✗ error broken line" in done.stdout.decode()


def test_times_beside_the_log_give_durations(tmp_path: Path) -> None:
    call, answer = (
        json.dumps(line).encode() + b"\n"
        for line in (assistant_line(use("a", "Bash", command="x")), user_line(result("a")))
    )
    (tmp_path / "a.ndjson").write_bytes(call + answer)
    (tmp_path / "a.times").write_text(f"{len(call)} 1000\n{len(call) + len(answer)} 3500\n")
    assert show("a.ndjson", cwd=tmp_path).stdout.decode().startswith("✓ Bash  x  [ok · 2.5 s]\n")


def test_secrets_of_the_environment_are_masked(tmp_path: Path) -> None:
    line = json.dumps(assistant_line(text("it is correct-horse-battery"))).encode()
    shown = show("-", stdin=line, MY_API_KEY="correct-horse-battery").stdout.decode()
    assert shown.startswith("● it is ***\n")
    assert "horse" not in shown


def test_an_encoding_that_lacks_the_symbols_is_no_reason_to_fail() -> None:
    done = show(recording("02-tools-basic"), PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert b"? Bash  true  [ok]" in done.stdout


def test_width_full_and_thinking_do_what_they_say() -> None:
    narrow = show(recording("23-tool-shapes"), "--width", "50", "--full").stdout.decode()
    assert "more lines" not in narrow
    assert "3000    line 3000" in narrow
    assert max(map(len, narrow.split("\n"))) <= 50
    assert "thinking" in show(recording("04-thinking")).stdout.decode()
    assert "thinking" not in show(recording("04-thinking"), "--no-thinking").stdout.decode()


def test_a_followed_log_is_shown_as_it_grows_and_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_text(json.dumps(assistant_line(text("first"))) + "\n")
    with path.open("a") as log, started("a.ndjson", "--follow", cwd=tmp_path) as shown:
        assert shown.stdout is not None
        assert read_until(shown.stdout.fileno(), "first") == "● first\n"
        print(json.dumps(user_line(text("and now?"))), json.dumps(assistant_line(text("second"))), sep="\n", file=log)
        log.flush()
        assert "● second" in read_until(shown.stdout.fileno(), "second")
        print(json.dumps(result_line("second", total_cost_usd=1.0)), file=log, flush=True)
        (tmp_path / "a.meta.json").write_text('{"ended": "2026-11-15T12:00:00Z", "exit_code": 0}')
        rest = shown.communicate(timeout=LIMIT_SECONDS)[0].decode()
        assert "── ✓ finished · $1.0000" in rest
        assert shown.returncode == 0


def test_a_followed_log_ends_where_its_bridle_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_text(json.dumps(assistant_line(text("first"))) + "\n")
    (tmp_path / "a.meta.json").write_text('{"agent": "claude"}')
    mark_lost(path)
    assert show("a.ndjson", "--follow", cwd=tmp_path).stdout.decode().startswith("● first\n")


def test_a_pipe_is_shown_as_its_lines_arrive() -> None:
    with started("-", stdin=subprocess.PIPE) as shown:
        assert shown.stdin is not None
        assert shown.stdout is not None
        for line, words in (
            (assistant_line(text("first")), "● first"),
            (assistant_line(use("a", "Bash", command="make")), "◌ Bash  make  [running]"),
            (user_line(result("a", "made")), "  made"),
        ):
            shown.stdin.write(json.dumps(line).encode() + b"\n")
            shown.stdin.flush()
            assert words in read_until(shown.stdout.fileno(), words)
        assert shown.communicate(timeout=LIMIT_SECONDS)[0].decode() == NO_RESULT
        assert shown.returncode == 0


@pytest.mark.parametrize("is_terminal", [False, True])
def test_ctrl_c_leaves_what_was_shown_and_what_was_under_way(is_terminal: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_text(json.dumps(assistant_line(text("first"), use("a", "Bash", command="make"), text("last"))) + "\n")
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color" if is_terminal else "dumb", "COLUMNS": "70"}
    with started("a.ndjson", "-f", cwd=tmp_path, stdout=follower, stderr=follower, env=environment) as shown:
        os.close(follower)
        screen = read_until(leader, "last")
        shown.send_signal(signal.SIGINT)
        screen += read_until(leader, "interrupted")
        assert shown.wait(timeout=LIMIT_SECONDS) == 130
    os.close(leader)
    kept = on_screen(screen)
    assert [line for line in kept if line] == ["● first", "◌ Bash  make  [running]", "● last", "bridle: interrupted"]


def on_screen(written: str) -> list[str]:
    """The lines that are left on a terminal after these were written to it."""
    lines, row = [""], 0
    for piece in re.split(r"(\r?\n|\r|\x1b\[1A|\x1b\[2K|\x1b\[[0-9;?]*[a-z])", written):
        match piece:
            case "\n" | "\r\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            case "\x1b[1A":
                row -= 1
            case "\x1b[2K":
                lines[row] = ""
            case _ if piece and not piece.startswith(("\x1b", "\r")):
                lines[row] += piece
    return [line.rstrip() for line in lines]


def test_a_call_of_an_agent_that_still_runs_is_not_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_text(json.dumps(assistant_line(use("a", "Bash", command="make"))) + "\n")
    (tmp_path / "a.meta.json").write_text(json.dumps({"pid": os.getpid()}))
    assert show("a.ndjson", cwd=tmp_path).stdout.decode() == "◌ Bash  make  [running]\n"
    with subprocess.Popen(["true"]) as ended:
        ended.wait(timeout=LIMIT_SECONDS)
    (tmp_path / "a.meta.json").write_text(json.dumps({"pid": ended.pid}))
    shown = show("a.ndjson", "--follow", cwd=tmp_path).stdout.decode()
    assert "■ Bash  make  [interrupted]" in shown
    assert "Bridle was killed while the agent was running" in shown


def test_stderr_beside_a_log_without_a_meta_file_is_shown_if_there_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text("")
    (tmp_path / "a.stderr").write_text("Error: no such model\n")
    assert show("a.ndjson", cwd=tmp_path).stdout.decode() == (
        "── ✗ the agent's process ended: the exit code is not known\n   stderr › Error: no such model\n"
    )


@pytest.mark.parametrize(
    "lines", [[], [{"type": "assistant", "message": {"content": [{"type": "text", "text": "x"}]}}]]
)
def test_a_log_that_ends_without_a_result_says_so(lines: list[Any], tmp_path: Path) -> None:
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    (log := tmp_path / "log.ndjson").write_bytes(data)
    for shown in (show("-", stdin=data), show(str(log))):
        assert shown.returncode == 0
        assert shown.stdout.decode().splitlines()[-1] == "── ✗ the log ends without a result"
    assert json.loads(show(str(log), "--json").stdout)["items"][-1]["is_known"] is False


def test_interrupting_a_followed_log_exits_130(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_text(json.dumps(assistant_line(text("first"))) + "\n")
    with started("a.ndjson", "--follow", cwd=tmp_path, stderr=subprocess.PIPE) as shown:
        assert shown.stdout is not None
        read_until(shown.stdout.fileno(), "first")
        shown.send_signal(signal.SIGINT)
        _, errors = shown.communicate(timeout=LIMIT_SECONDS)
        assert shown.returncode == 130
        assert b"Traceback" not in errors


def test_a_terminal_gets_colour_and_its_own_width(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "70"}
    with started(recording("12-subagent"), stdout=follower, env=environment) as shown:
        os.close(follower)
        screen = read_until(leader, "tokens in")
        assert shown.wait(timeout=LIMIT_SECONDS) == 0
    os.close(leader)
    assert "\x1b[" in screen
    assert "│ " in screen


def test_a_followed_log_on_a_terminal_shows_what_still_runs(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_text(json.dumps(assistant_line(text("first"), use("a", "Bash", command="sleep"))) + "\n")
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "70"}
    streams = {"stdout": follower, "env": environment}
    with path.open("a") as log, started("a.ndjson", "--follow", cwd=tmp_path, **streams) as shown:
        os.close(follower)
        assert "◌ Bash" in read_until(leader, "running")
        print(json.dumps(user_line(result("a", "slept"))), file=log, flush=True)
        assert "✓ Bash" in read_until(leader, "slept")
        (tmp_path / "a.meta.json").write_text('{"ended": "2026-11-15T12:00:00Z", "exit_code": 0}')
        assert shown.wait(timeout=LIMIT_SECONDS) == 0
    os.close(leader)


CODEX = '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"words of another agent"}}\n'


@pytest.mark.parametrize("target", ["FILE", "last"])
def test_a_log_that_bridle_kept_is_read_as_the_agent_of_its_run(target: str, tmp_path: Path) -> None:
    logs = tmp_path / ".ralph" / "logs" / "claude"
    logs.mkdir(parents=True)
    (logs / "a.ndjson").write_text(CODEX, encoding="utf-8")
    (logs / "a.meta.json").write_text('{"agent": "codex"}', encoding="utf-8")
    done = show(str(logs / "a.ndjson") if target == "FILE" else target, cwd=tmp_path)
    assert (done.returncode, done.stdout.decode()) == (0, f"● words of another agent\n{NO_RESULT}")


@pytest.mark.parametrize("meta", ['{"agent": 7}', "not json", "[]", '{"agent": "bridle-agent"}'])
def test_what_is_beside_a_log_never_keeps_it_from_being_shown(meta: str, tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text(json.dumps(assistant_line(text("hello"))) + "\n", encoding="utf-8")
    (tmp_path / "a.meta.json").write_text(meta, encoding="utf-8")
    done = show(str(tmp_path / "a.ndjson"))
    assert (done.returncode, done.stdout.decode()) == (0, f"● hello\n{NO_RESULT}")
