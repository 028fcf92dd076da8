"""`bridle stage` as a real process."""

from __future__ import annotations

import http.client
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.stage.fixtures.raw_client import PATIENCE_SECONDS, ask, request_body

PROGRAM = [sys.executable, "-W", "error", "-c", "from bridle.cli.main import main; main()", "stage"]


def finished(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The command, run to its end."""
    return subprocess.run(
        [*PROGRAM, *arguments], input=stdin, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )


@contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command while it serves, and the first line it prints."""
    with subprocess.Popen([*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline()
        finally:
            process.kill()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return written(tmp_path, {"answers": [{"blocks": ["hello"]}]})


def written(folder: Path, script: Any) -> Path:
    path = folder / "script.json"
    path.write_text(json.dumps(script))
    return path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_the_url_serves_and_exits_with_0_on_a_signal(script: Path, number: signal.Signals) -> None:
    with started(str(script)) as (process, line):
        assert line.startswith("http://127.0.0.1:")
        port = int(line.rsplit(":", 1)[1])
        assert ask(port).texts() == ["hello"]
        assert ask(port).status == 400
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (0, "")
    assert f"ANTHROPIC_BASE_URL={line.strip()} ANTHROPIC_API_KEY=" in err
    assert "POST /v1/messages → answers[0]" in err
    assert "script exhausted" in err
    assert "Traceback" not in err


def test_a_client_cannot_drive_the_terminal(script: Path) -> None:
    with started(str(script)) as (process, line):
        port = int(line.rsplit(":", 1)[1])
        for _ in range(2):
            ask(port, model="evil\x07\u202e")
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert "model evil" in err
    assert "\x07" not in err
    assert "\u202e" not in err


def test_a_signal_ends_it_while_a_client_hangs(tmp_path: Path) -> None:
    path = written(tmp_path, {"answers": [{"kind": "hang", "blocks": ["a"], "after_events": 1}]})
    with started(str(path)) as (process, line):
        connection = http.client.HTTPConnection(line.strip().removeprefix("http://"), timeout=PATIENCE_SECONDS)
        connection.request("POST", "/v1/messages", request_body(stream=True))
        response = connection.getresponse()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
        response.close()
        connection.close()


def test_json_is_one_document_with_url_port_and_pid(script: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.ndjson"
    with started(str(script), "--json", "--record", str(record)) as (process, line):
        document = json.loads(line)
        assert document == {"url": f"http://127.0.0.1:{document['port']}", "port": document["port"], "pid": process.pid}
        ask(document["port"], "remember me")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (0, "")
    kept = json.loads(record.read_text())
    assert kept["body"]["messages"][0]["content"] == "remember me"
    assert stat.S_IMODE(record.stat().st_mode) == 0o600


def test_the_port_is_the_one_asked_for_and_a_taken_one_is_refused(script: Path) -> None:
    with started(str(script)) as (_, line):
        port = line.strip().rsplit(":", 1)[1]
        refused = finished(str(script), "--port", port)
    assert refused.returncode == 2
    assert f"port {port}" in refused.stderr
    with started(str(script), "--port", port) as (_, again):
        assert again == line


def test_a_wrong_script_is_refused_with_its_path(tmp_path: Path) -> None:
    path = written(tmp_path, {"answers": [{"blocks": []}, {"blocks": []}, {"blocks": [{"type": "nope"}]}]})
    for arguments in ([], ["--check"]):
        ended = finished(str(path), *arguments)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "answers[2].blocks[0].type" in ended.stderr
        assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "arguments",
    [[], ["missing.json"], ["/"], ["--port", "99999"], ["--host", "0.0.0.0"], ["--nope"]],  # noqa: S104  # refused
)
def test_wrong_usage_ends_with_2_and_one_clear_message(script: Path, arguments: list[str]) -> None:
    named = [*arguments, str(script)] if "--host" in arguments or "--port" in arguments else arguments
    ended = finished(*named)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("bridle: ")
    assert "Traceback" not in ended.stderr


def test_check_reports_a_valid_script_and_serves_nothing(script: Path) -> None:
    ended = finished(str(script), "--check")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "is valid; answers: 1." in ended.stderr
    as_json = finished("-", "--check", "--json", stdin=script.read_text())
    assert json.loads(as_json.stdout) == {"ok": True, "answers": 1, "conversations": 0}


def test_the_schema_is_printed_as_json() -> None:
    ended = finished("--schema")
    assert ended.returncode == 0
    assert "answers" in json.dumps(json.loads(ended.stdout))


def test_a_record_that_cannot_be_written_ends_the_stage_with_its_reason(script: Path) -> None:
    with started(str(script), "--record", "/dev/full") as (process, line):
        assert ask(int(line.rsplit(":", 1)[1])).status == 500
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 1
    assert "cannot record requests in /dev/full" in err


def test_importing_the_command_starts_nothing_heavy() -> None:
    code = (
        "import sys, bridle.cli.commands.agents.stage; "
        "print([name for name in ('asyncio', 'h11', 'msgspec', 'bridle.stage.server') if name in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=True,
        env=os.environ,
    )
    assert ended.stdout == "[]\n"
