"""A folder with session files and runs in it, and Bridle's commands at work there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.session import Session, SessionFile, new_file
from bridle.journal.stores.create import NewRun, create_run
from bridle.journal.stores.file_store import FileStore
from tests.cli.fixtures.machine_commands import CommandResult, bridle
from tests.journal.steps import MOMENT, a_request, ids

SINCE = "2026-03-02T10:00:00Z"


class Place:
    """Where a project is, its session files and its runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.runs = folder / ".a5c" / "runs"

    def session(self, command: str, *words: object, **environment: str) -> CommandResult:
        """Run a command about the session s1."""
        base = (f"session:{command}", "--session-id", "s1", "--state-dir", self.state, "--json")
        return bridle(*base, *words, cwd=self.folder, **environment)

    def path(self, session: str = "s1") -> Path:
        return self.state / f"{session}.md"

    def put(self, session: Session, prompt: str = "Build it", *, name: str = "s1") -> None:
        session_file.write(new_file(self.path(name), session, prompt))

    def file(self, session: str = "s1") -> SessionFile:
        found = session_file.read(self.path(session))
        assert found is not None
        return found

    def make_run(self, run_id: str, *, end: str | None = None, is_waiting: bool = False, **fields: Any) -> Path:
        """A run that was created, waits, or has ended."""
        new = NewRun(run_id=run_id, process_id="demo", entry=self.folder / "process.py", **fields)
        run = create_run(self.runs, new, proof="0" * 32, ulid=ids(1)[0], created_at=MOMENT)
        with FileStore(run).write("test") as writer:
            if is_waiting:
                writer.request(a_request("E1", 1))
            if end is not None:
                writer.append(end, {})
        return run


def a_session(**fields: Any) -> Session:
    """An active session in its third iteration."""
    return Session(**{"active": True, "iteration": 3, "started_at": SINCE, "last_iteration_at": SINCE, **fields})


def refusal(done: CommandResult) -> dict[str, Any]:
    """The document on stderr of a command that was refused."""
    assert (done.code, done.stdout) == (1, ""), done
    found: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    return found
