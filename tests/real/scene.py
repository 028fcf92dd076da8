"""A scene for a real agent: a stage that plays its model, and a home and a workspace that nobody else has."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.stage.script import load_script
from bridle.stage.server import Stage
from bridle.stage.thread import running
from tests.fixtures.bridle_program import run_bridle
from tests.real.parts import claude_program

KEY = "sk-dummy-4f1e9c77a2"  # nobody checks it but a scripted 401; its letters must turn up nowhere else
# A start takes one to four seconds, and no script here waits longer than fifteen: this is a hang.
LIMIT_SECONDS = 120.0
_POLL_SECONDS = 0.05

Answer = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """What one `bridle ask` gave back."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of `--json`."""
        value: dict[str, Any] = json.loads(self.stdout)
        return value

    @property
    def log(self) -> Path:
        """The log that the run left."""
        return Path(self.document["log_path"])

    def events(self) -> list[dict[str, Any]]:
        """Every line of the log."""
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]


@dataclass(frozen=True)
class Scene:
    """Where a real Claude Code acts."""

    stage: Stage
    home: Path
    workspace: Path

    def environment(self, **more: str) -> dict[str, str]:
        """A whole environment, made from nothing, in which no setting of the person at the machine is left."""
        return {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "BRIDLE_HOME": str(self.home / ".bridle"),
            "BRIDLE_CLAUDE": str(claude_program()),
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": self.stage.url,
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "IS_SANDBOX": "1",
            **more,
        }

    def ask(self, *arguments: str, stdin: str | None = None, **environment: str) -> Asked:
        """`bridle ask --json …` in the workspace."""
        return self.bridle("ask", "--json", *arguments, stdin=stdin, **environment)

    def bridle(self, *arguments: str, stdin: str | None = None, **environment: str) -> Asked:
        """Run a command in the workspace to its end."""
        done = run_bridle(
            *arguments,
            cwd=self.workspace,
            stdin=stdin or "",
            environment=self.environment(**environment),
            limit_seconds=LIMIT_SECONDS,
        )
        return Asked(done.returncode, done.stdout, done.stderr)

    def inspect(self, log: Path) -> dict[str, Any]:
        """What `bridle inspect` makes of a log."""
        document: dict[str, Any] = self.bridle("inspect", str(log), "--json").document
        return document

    def bodies(self) -> list[dict[str, Any]]:
        """What the model was asked, oldest first."""
        return [request.body for request in self.stage.requests if request.path == "/v1/messages"]


@contextlib.contextmanager
def scene(folder: Path, *answers: Answer, **fields: Any) -> Iterator[Scene]:
    """Set a scene below a folder; the stage plays these answers, and is only up while the block lasts."""
    home, workspace = folder / "home", folder / "workspace"
    for path in (home / "tmp", workspace):
        path.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(workspace)], check=True, timeout=LIMIT_SECONDS)
    with running(load_script({"answers": list(answers), **fields})) as stage:
        yield Scene(stage, home, workspace.resolve())


def says(*texts: str) -> Answer:
    """The model says this."""
    return {"blocks": list(texts)}


def calls(tool: str, **arguments: Any) -> Answer:
    """The model calls a tool."""
    return {"blocks": [{"type": "tool_use", "name": tool, "input": arguments}]}


def offered(body: dict[str, Any]) -> set[str]:
    """The names of the tools that a request offers to the model."""
    return {tool["name"] for tool in body["tools"]}


def user_texts(body: dict[str, Any]) -> list[str]:
    """Every text that the model is shown as the user's."""
    texts: list[str] = []
    for message in body["messages"]:
        if message["role"] == "user":
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            texts += [block["text"] for block in blocks if block["type"] == "text"]
    return texts


def processes_with(mark: str) -> list[int]:
    """The processes that carry a mark in their arguments or their environment."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and mark.encode() in _told(entry):
            found.append(int(entry.name))
    return found


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"in {LIMIT_SECONDS:g} seconds there was no {what}")
        time.sleep(_POLL_SECONDS)


def _told(entry: Path) -> bytes:
    """Arguments and environment of a process; nothing of one that has ended (a zombie has neither)."""
    try:
        return (entry / "cmdline").read_bytes() + b"\0" + (entry / "environ").read_bytes()
    except OSError:
        return b""
