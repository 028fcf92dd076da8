"""A scripted agent: a small executable that plays a list of steps, as one that the tests point BRIDLE_CLAUDE at.

Each step is a method of `Script`; the program that plays them is `_PLAYER` below. The agent notes its start (pid,
argv, environment) and what it reads on stdin in files beside itself, for the test to look at.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridle.ground.descendants import census

# A test that waits longer than this has hung.
HANG_SECONDS = 60

SESSION = "10f6d3c2-0000-4000-8000-000000000001"
MODEL = "claude-sonnet-4-5"

_PLAYER = r"""
import json, os, signal, sys, time
HERE = os.path.dirname(os.path.abspath(__file__))
NAME = os.path.join(HERE, os.path.basename(__file__))
REST = []

def note(ending, value):
    with open(NAME + ending, "a", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")

def starts():
    with open(NAME + ".starts", encoding="utf-8") as file:
        return len(file.readlines())

def write(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]

def play(step):
    verb, value = step
    if verb == "out":
        write(1, value.encode("latin-1"))
    elif verb == "err":
        write(2, value.encode("latin-1"))
    elif verb == "numbered":
        for number in range(value):
            write(1, json.dumps({"type": "numbered", "number": number}).encode() + b"\n")
    elif verb == "flood":
        line = json.dumps({"type": "flood", "text": "x" * 80}).encode() + b"\n"
        while True:
            write(1, line * 500)
    elif verb == "sleep":
        end = time.monotonic() + value
        while time.monotonic() < end:
            time.sleep(min(1.0, max(end - time.monotonic(), 0)))
    elif verb == "until":
        while not os.path.exists(value):
            time.sleep(0.01)
    elif verb == "ignore":
        for name in value:
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    elif verb == "answer_signal":
        def last_words(number, frame):
            write(1, value[1].encode("latin-1"))
            os._exit(130)
        signal.signal(getattr(signal, value[0]), last_words)
    elif verb == "close":
        os.close(value)
    elif verb == "listen":
        parts = [REST.pop() if REST else b""]
        while b"\n" not in parts[-1]:
            part = os.read(0, 65536)
            if not part:
                note(".heard", None)
                return
            parts.append(part)
        line, _, rest = b"".join(parts).partition(b"\n")
        REST.append(rest)
        note(".heard", json.loads(line))
    elif verb == "read_all":
        parts = [REST.pop() if REST else b""]
        while part := os.read(0, 65536):
            parts.append(part)
        note(".heard", b"".join(parts).decode())
    elif verb == "daemon":
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                if value["ignores"]:
                    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                        signal.signal(number, signal.SIG_IGN)
                if not value["holds_output"]:
                    null = os.open(os.devnull, os.O_RDWR)
                    for fd in (0, 1, 2):
                        os.dup2(null, fd)
                note(".daemons", os.getpid())
                time.sleep(value["seconds"])
            os._exit(0)
        os.wait()
    elif verb == "obey":
        for order in sys.argv[-1].splitlines():
            if order.startswith("$ ") and os.system(order[2:]) != 0:
                os._exit(1)
    elif verb == "on_start":
        number, steps = value
        if starts() == number:
            for one in steps:
                play(one)
    elif verb == "kill":
        os.kill(os.getpid(), getattr(signal, value))
    elif verb == "exit":
        os._exit(value)

note(".starts", {"pid": os.getpid(), "argv": sys.argv, "environment": dict(os.environ), "cwd": os.getcwd()})
for step in json.load(open(NAME + ".steps", encoding="utf-8")):
    play(step)
"""


def line(value: dict[str, Any]) -> str:
    """One event as the agent prints it."""
    return json.dumps(value) + "\n"


def init(session: str = SESSION, **fields: Any) -> str:
    """The first event of a turn."""
    known = {
        "type": "system",
        "subtype": "init",
        "session_id": session,
        "tools": ["Read", "Bash"],
        "model": MODEL,
        "permissionMode": "default",
        "apiKeySource": "none",
        "claude_code_version": "2.1.197",
    }
    return line(known | fields)


def says(text: str, *, message_id: str = "msg_1", **fields: Any) -> str:
    """A message of the agent in words."""
    return assistant([{"type": "text", "text": text}], message_id=message_id, **fields)


def calls(tool: str, call_id: str = "toolu_1", **arguments: Any) -> str:
    """A message in which the agent calls a tool."""
    return assistant([{"type": "tool_use", "id": call_id, "name": tool, "input": arguments}])


def assistant(content: list[dict[str, Any]], *, message_id: str = "msg_1", **fields: Any) -> str:
    """A message of the agent."""
    usage = {"input_tokens": 3, "output_tokens": 1}
    message = {"id": message_id, "role": "assistant", "model": MODEL, "content": content, "usage": usage}
    return line({"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": SESSION} | fields)


def returns(text: str, call_id: str = "toolu_1", **fields: Any) -> str:
    """The answer of a tool."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text} | fields
    return line({"type": "user", "message": {"role": "user", "content": [block]}, "session_id": SESSION})


def result(text: str = "done", session: str = SESSION, **fields: Any) -> str:
    """The last event of a turn."""
    known = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": text,
        "session_id": session,
        "total_cost_usd": 0.25,
        "num_turns": 2,
        "duration_ms": 1200,
        "usage": {"input_tokens": 10, "output_tokens": 5},
        "permission_denials": [],
    }
    return line(known | fields)


@dataclass(frozen=True)
class Agent:
    """An installed scripted agent."""

    path: Path

    @property
    def starts(self) -> list[dict[str, Any]]:
        """Each start so far: pid, argv, environment, cwd."""
        return self._notes(".starts")

    @property
    def heard(self) -> list[Any]:
        """What it read on stdin; None for the end of it."""
        return self._notes(".heard")

    @property
    def daemons(self) -> list[int]:
        """The pids of the daemons it left."""
        return self._notes(".daemons")

    def environment(self, **variables: str) -> dict[str, str]:
        """The environment in which Bridle takes it for Claude Code."""
        return {**os.environ, "BRIDLE_CLAUDE": str(self.path), **variables}

    def _notes(self, ending: str) -> list[Any]:
        path = self.path.with_name(self.path.name + ending)
        if not path.exists():
            return []
        # The last line may still be on its way.
        return [json.loads(text) for text in path.read_text("utf-8").split("\n")[:-1]]


@dataclass
class Script:
    """What the agent does, step by step; after the last step it exits with 0."""

    steps: list[tuple[str, Any]] = field(default_factory=list)

    def out(self, *texts: str) -> Script:
        """Print text; a character is one byte (Latin-1), so that any bytes can be printed."""
        return self._add("out", "".join(texts))

    def err(self, text: str) -> Script:
        """Print to stderr."""
        return self._add("err", text)

    def numbered(self, count: int) -> Script:
        """Print this many events with numbers."""
        return self._add("numbered", count)

    def flood(self) -> Script:
        """Print without end, as fast as it is read."""
        return self._add("flood", None)

    def sleep(self, seconds: float = 600) -> Script:
        """Do nothing; by default for longer than any test waits."""
        return self._add("sleep", seconds)

    def until(self, path: Path) -> Script:
        """Wait until a file is there."""
        return self._add("until", str(path))

    def ignore(self, *names: str) -> Script:
        """Ignore signals."""
        return self._add("ignore", names)

    def answer_signal(self, name: str, words: str) -> Script:
        """Print something when the signal comes, and leave."""
        return self._add("answer_signal", (name, words))

    def close(self, fd: int) -> Script:
        """Close one of its own descriptors."""
        return self._add("close", fd)

    def listen(self) -> Script:
        """Read one line of stdin and note it."""
        return self._add("listen", None)

    def read_all(self) -> Script:
        """Read stdin to its end and note it."""
        return self._add("read_all", None)

    def daemon(self, *, seconds: float = 600, holds_output: bool = False, ignores: bool = False) -> Script:
        """Fork twice with setsid in between, and leave what comes of it behind."""
        return self._add("daemon", {"seconds": seconds, "holds_output": holds_output, "ignores": ignores})

    def obey(self) -> Script:
        """Run each line of its prompt that begins with `$ `, in its working folder; a line that fails ends it."""
        return self._add("obey", None)

    def on_start(self, number: int, then: Script) -> Script:
        """Do this only when it is started for the number-th time, counted from 1."""
        return self._add("on_start", (number, then.steps))

    def kill(self, name: str = "SIGKILL") -> Script:
        """Send itself a signal."""
        return self._add("kill", name)

    def exit(self, code: int) -> Script:
        """Leave."""
        return self._add("exit", code)

    def install(self, folder: Path, name: str = "agent") -> Agent:
        """Write the program into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        # -I -S: a hundred of them start in a few seconds.
        path.write_text(f"#!{sys.executable} -IS\n{_PLAYER}", "utf-8")
        path.with_name(name + ".steps").write_text(json.dumps(self.steps), "utf-8")
        path.chmod(0o755)
        return Agent(path)

    def _add(self, verb: str, value: Any) -> Script:
        self.steps.append((verb, value))
        return self


def happy(text: str = "done") -> Script:
    """One turn that goes well."""
    return Script().out(init(), says(text), result(text))


def is_alive(pid: int) -> bool:
    """Whether there is a living process with this pid."""
    entry = census.find_process(pid)
    return entry is not None and entry.is_alive


def eventually(claim: Callable[[], object]) -> None:
    """Wait until the claim holds."""
    deadline = time.monotonic() + HANG_SECONDS
    while not claim():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)


def all_dead(pids: Sequence[int]) -> bool:
    """Whether none of these lives; there must be some."""
    return bool(pids) and not any(is_alive(pid) for pid in pids)
