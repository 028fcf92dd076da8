"""Puts one program through a scenario, in a home and a workspace of its own, and keeps what could be seen of it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, assert_never

import psutil

from bridle.stage.script import load_script
from bridle.stage.server import Stage
from bridle.stage.thread import running
from tests.real.fixtures.claude_on_stage import processes_with
from tests.real.side_by_side.scenario import (
    AwaitEvent,
    AwaitFile,
    AwaitRequest,
    Close,
    Respond,
    Scenario,
    Send,
    Signal,
    Start,
    Step,
    script_of,
)

KEY = "sk-dummy-side-by-side"
# A start takes one to four seconds on a busy machine, and no scenario waits longer than ten: this is a hang.
LIMIT_SECONDS = 90.0
# A child that was killed needs a moment until it is gone.
GONE_SECONDS = 3.0
_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Started:
    """What one start of the program gave."""

    exit_code: int
    stdout: str
    stderr: str
    events: tuple[dict[str, Any], ...]
    left_behind: bool
    """Whether a process of this start was still there after its end."""


@dataclass(frozen=True)
class Seen:
    """Everything that one program did in a scenario."""

    home: Path
    workspace: Path
    starts: tuple[Started, ...]
    requests: tuple[dict[str, Any], ...]
    """The bodies that the model was asked with, oldest first."""
    files: dict[str, str]
    transcripts: tuple[tuple[dict[str, Any], ...], ...]


def play(program: Path, scenario: Scenario, folder: Path) -> Seen:
    """Run every start of a scenario below a folder, to its end."""
    home, workspace = folder / "home", folder / "workspace"
    for path in (home / "tmp", workspace):
        path.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(workspace)], check=True, timeout=LIMIT_SECONDS)
    here = {"<workspace>": str(workspace), "<home>": str(home)}
    for name, text in scenario.files.items():
        path = home / name.removeprefix("<home>/") if name.startswith("<home>/") else workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_placed(text, here), encoding="utf-8", newline="")
    script = json.loads(_placed(json.dumps(script_of(scenario)), here))
    with running(load_script(script)) as stage:
        starts: list[Started] = []
        for start in scenario.starts:
            starts.append(_run(program, start, stage, workspace, {**here, **_message_ids(starts)}))
        asked = tuple(request.body for request in stage.requests if request.path == "/v1/messages")
    return Seen(home, workspace, tuple(starts), asked, _files(workspace), tuple(_transcripts(home)))


class _Process:
    """A running program whose stdout is read by a thread of its own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.lines: list[bytes] = []
        self.error = b""
        self._changed = threading.Condition()
        assert process.stdout is not None
        assert process.stderr is not None
        self._readers = [
            threading.Thread(target=self._read, args=(process.stdout,), daemon=True),
            threading.Thread(target=self._read_error, args=(process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def send(self, line: str) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended already; its exit code tells
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()

    def wait_until(self, condition: Any, what: str) -> None:
        """Wait; a program that ends before is left to the comparison."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not condition():
            if self.process.poll() is not None:
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"in {LIMIT_SECONDS:g} seconds there was no {what}: {self.told()}")
            with self._changed:
                self._changed.wait(_POLL_SECONDS)

    def close(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def end(self) -> None:
        self.close()
        try:
            self.process.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"no end in {LIMIT_SECONDS:g} seconds after the last step: {self.told()}") from None

    def collect(self) -> None:
        """Read what is left; a child that holds a pipe open would be one that was left behind."""
        for reader in self._readers:
            reader.join(LIMIT_SECONDS)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def told(self) -> str:
        return f"stdout ends {b''.join(self.lines[-3:])[-1500:]!r}, stderr {self.error!r}"

    def _read(self, stream: IO[bytes]) -> None:
        for line in stream:
            with self._changed:
                self.lines.append(line)
                self._changed.notify_all()

    def _read_error(self, stream: IO[bytes]) -> None:
        for line in stream:
            self.error += line


def _run(program: Path, start: Start, stage: Stage, workspace: Path, here: dict[str, str]) -> Started:
    home = Path(here["<home>"])
    mark = f"side-by-side-{uuid.uuid4().hex}"
    process = subprocess.Popen(
        [str(program), *(_placed(word, here) for word in start.arguments)],
        cwd=workspace / start.folder,
        env=_environment(start, stage.url, home, mark),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    running_program = _Process(process)
    asked_before = _asked(stage)
    try:
        for step in start.steps:
            _do(step, running_program, stage, asked_before, workspace, here)
        running_program.end()
    finally:
        process.kill()
        process.wait()
        left = _left_behind(mark)
        running_program.close()
        running_program.collect()
    stdout = b"".join(running_program.lines).decode()
    return Started(process.returncode, stdout, running_program.error.decode(), _events(stdout), left)


def _message_ids(starts: list[Started]) -> dict[str, str]:
    """The ids of the messages so far: `<assistant-2>` is that of the second answer, over all starts."""
    found: dict[str, str] = {}
    for kind in ("assistant", "user"):
        events = (event for start in starts for event in start.events if event.get("type") == kind)
        found |= {f"<{kind}-{place}>": str(event.get("uuid")) for place, event in enumerate(events, start=1)}
    return found


def _do(step: Step, program: _Process, stage: Stage, asked_before: int, workspace: Path, here: dict[str, str]) -> None:
    match step:
        case Send(line):
            program.send(_placed(line, {**here, **_task_ids(program.lines)}))
        case Respond():
            program.wait_until(lambda: _request(program.lines, step) is not None, f"request {step}")
            program.send(_placed(_response(_request(program.lines, step), step), here))
        case Close():
            program.close()
        case AwaitEvent(kind, count):
            program.wait_until(lambda: _count(program.lines, kind) >= count, f"{count} events {kind!r}")
        case AwaitRequest(count):
            program.wait_until(lambda: _asked(stage) - asked_before >= count, f"{count} requests")
        case AwaitFile(path):
            program.wait_until((workspace / path).exists, f"file {path}")
        case Signal(number):
            program.process.send_signal(number)
        case _:
            assert_never(step)


def _task_ids(lines: list[bytes]) -> dict[str, str]:
    """The ids of the tasks so far: `<task-1>` is that of the first one that was started."""
    started = (event for event in _events(b"".join(lines).decode(errors="replace")) if _starts_task(event))
    return {f"<task-{place}>": str(event["task_id"]) for place, event in enumerate(started, start=1)}


def _starts_task(event: dict[str, Any]) -> bool:
    return kind_of(event) == "system/task_started"


def _request(lines: list[bytes], step: Respond) -> str | None:
    """The id of the request that a step answers."""
    events = (event for event in _events(b"".join(lines).decode(errors="replace")) if _is_request(event))
    ids = [str(event["request_id"]) for event in events if step.about in json.dumps(event["request"])]
    return ids[step.number - 1] if len(ids) >= step.number else None


def _is_request(event: dict[str, Any]) -> bool:
    return event.get("type") == "control_request"


def _response(request_id: str | None, step: Respond) -> str:
    answer: dict[str, Any] = {"subtype": "success", "response": step.response}
    if step.error is not None:
        answer = {"subtype": "error", "error": step.error}
    return json.dumps({"type": "control_response", "response": {**answer, "request_id": request_id}})


def _environment(start: Start, url: str, home: Path, mark: str) -> dict[str, str]:
    """A whole environment made from nothing, so that no setting of the person at the machine is left."""
    settings: dict[str, str | None] = {
        "PATH": os.environ["PATH"],
        "SHELL": "/bin/bash",  # else the real one takes zsh where that is installed
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": url,
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "SIDE_BY_SIDE": mark,
        **start.environment,
    }
    return {name: value for name, value in settings.items() if value is not None}


def _placed(text: str, here: dict[str, str]) -> str:
    for name, path in here.items():
        text = text.replace(name, path)
    return text


def _events(stdout: str) -> tuple[dict[str, Any], ...]:
    """The objects among the lines; `--output-format json --verbose` prints them as one list."""
    events: list[dict[str, Any]] = []
    for line in stdout.splitlines():
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            events += [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]
    return tuple(events)


def kind_of(event: dict[str, Any]) -> str:
    """The name of an event's kind: its type, and for the system's own events what they are about."""
    kind = str(event.get("type"))
    return f"{kind}/{event.get('subtype')}" if kind == "system" else kind


def _count(lines: list[bytes], kind: str) -> int:
    return sum(kind_of(event) == kind for event in _events(b"".join(lines).decode(errors="replace")))


def _asked(stage: Stage) -> int:
    return sum(request.path == "/v1/messages" for request in stage.requests)


def _left_behind(mark: str) -> bool:
    """Whether a process of the start outlives it; what is left is ended."""
    deadline = time.monotonic() + GONE_SECONDS
    while (left := processes_with(mark)) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    for pid in left:
        with contextlib.suppress(psutil.Error):
            psutil.Process(pid).kill()
    return bool(left)


def _files(workspace: Path) -> dict[str, str]:
    """Every file of the workspace but git's own, with its text and whether it can be run."""
    files: dict[str, str] = {}
    for path in sorted(workspace.rglob("*")):
        name = path.relative_to(workspace)
        if path.is_file() and name.parts[0] != ".git":
            text = path.read_bytes().decode("utf-8", errors="backslashreplace")
            files[str(name)] = f"{path.stat().st_mode & 0o777:o} {text}"
    return files


def _transcripts(home: Path) -> Iterator[tuple[dict[str, Any], ...]]:
    """The conversations that were kept, oldest first."""
    found = sorted((home / ".claude" / "projects").glob("*/*.jsonl"), key=lambda path: path.stat().st_ctime_ns)
    for path in found:
        yield tuple(json.loads(line) for line in path.read_text("utf-8").split("\n") if line)  # U+2028 ends none
