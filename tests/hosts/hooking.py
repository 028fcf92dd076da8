"""A project with runs and sessions in it, and hooks that are started there as a host starts them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bridle
from bridle.ground.light.moments import iso
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.session import Session, SessionFile
from bridle.journal.format.entries import EFFECT_REQUESTED, EFFECT_RESOLVED, STOP_HOOK_INVOKED, Entry
from bridle.journal.format.ulid import next_ulid
from bridle.journal.stores.create import NewRun, create_run
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from tests.journal.steps import a_request, ok, step

# A hang is a failure; a start on a busy machine takes some seconds.
LIMIT_SECONDS = 60

SOURCE = str(Path(bridle.__file__).parents[1])
# What the plugin's own file does.
ENTRY = (
    f"import sys; sys.path.append({SOURCE!r}); from bridle.hosts.hooks.entry_point import start; start(sys.argv[1:])"
)
HOOK = (sys.executable, "-I", "-S", "-c", ENTRY)

PROOF = "0123456789abcdef0123456789abcdef"
BEFORE = "2026-03-02T10:00:00Z"
PROMPT = "Build the thing"


@dataclass(frozen=True)
class Done:
    """How a hook ended."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        """What it answered; nothing else may be on its standard output."""
        document = json.loads(self.stdout)
        assert isinstance(document, dict)
        return document


class Project:
    """A folder that a session works in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / ".a5c" / "runs"
        self.state = folder / ".a5c" / "state"
        self.transcript = folder / "transcript.jsonl"
        self.log = folder / "home" / "hooks.log"
        folder.mkdir(parents=True, exist_ok=True)

    def run(
        self, words: str = "", *, run_id: str = "r", is_interactive: bool = True, harness: str | None = None
    ) -> Path:
        """A run with these entries behind its first; see `tests.journal.steps.step`."""
        new = NewRun(
            run_id=run_id,
            process_id="demo",
            entry=self.folder / "process.py",
            is_interactive=is_interactive,
            harness=harness,
        )
        ulid = next_ulid("", now_ms=1_790_000_000_000, random=bytes(10))
        run = create_run(self.runs, new, proof=PROOF, ulid=ulid, created_at=iso(1_790_000_000_000_000_000))
        extend(run, words)
        return run

    def session(self, session_id: str = "s", **fields: Any) -> Path:
        """A session's file; by default one that is bound to the run `r` and at its third iteration."""
        known: dict[str, Any] = {"active": True, "iteration": 3, "run_id": "r", "started_at": BEFORE}
        session = Session(**known | {"last_iteration_at": BEFORE} | fields)
        path = session_file.path_of(self.state, session_id)
        session_file.write(session_file.new_file(path, session, PROMPT))
        return path

    def say(self, *lines: object, after: bytes = b"") -> None:
        """A transcript: each line an object, or text that the agent says."""
        values = [said(line) if isinstance(line, str) else line for line in lines]
        self.transcript.write_bytes("".join(json.dumps(value) + "\n" for value in values).encode() + after)

    def payload(self, session_id: object = "s", **fields: object) -> dict[str, object]:
        """What a host tells a hook."""
        known: dict[str, object] = {"session_id": session_id, "cwd": str(self.folder), "hook_event_name": "Stop"}
        if self.transcript.exists():
            known["transcript_path"] = str(self.transcript)
        return known | fields

    def environment(self, **more: str) -> dict[str, str]:
        """Nothing of the person's own."""
        return {"PATH": os.defpath, "HOME": str(self.folder / "home"), "BRIDLE_HOME": str(self.folder / "home"), **more}

    def start(
        self,
        *words: str,
        environment: Mapping[str, str] | None = None,
        program: Sequence[str] = HOOK,
        hook_type: str = "stop",
        **options: Any,
    ) -> subprocess.Popen[bytes]:
        """Start a hook; its payload is the caller's to write."""
        pipe = subprocess.PIPE
        streams: dict[str, Any] = {"stdin": pipe, "stdout": pipe, "stderr": pipe}
        process: subprocess.Popen[bytes] = subprocess.Popen(
            [*program, "--hook-type", hook_type, *words],
            cwd=self.folder,
            env=self.environment(**environment or {}),
            **streams | options,
        )
        return process

    def hook(self, payload: object, *words: str, **options: Any) -> Done:
        """Run a hook to its end; a payload that is no bytes becomes JSON."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        with self.start(*words, **options) as process:
            stdout, stderr = process.communicate(data, timeout=LIMIT_SECONDS)
        return Done(process.returncode, stdout, stderr.decode())

    def stop(self, *words: str, **options: Any) -> Done:
        """Run the Stop hook with the usual payload."""
        return self.hook(self.payload(), *words, **options)


def feed(hook: subprocess.Popen[bytes], payload: object) -> None:
    """Give a started hook its payload, and nothing more."""
    assert hook.stdin is not None
    hook.stdin.write(json.dumps(payload).encode())
    hook.stdin.close()
    hook.stdin = None


def said(text: str, **fields: object) -> dict[str, object]:
    """A line of a transcript in which the agent says something."""
    message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    return {"type": "assistant", "message": message, **fields}


def extend(run: Path, words: str) -> None:
    """Append the entries that these words stand for."""
    with FileStore(run).write("test") as writer:
        for word in words.split():
            entry_type, data = step(word)
            if entry_type == EFFECT_REQUESTED:
                name, number = str(data["effectId"]), len(writer.state.effects) + 1
                writer.request(a_request(name, number, kind=str(data["kind"])))
            elif entry_type == EFFECT_RESOLVED:
                writer.resolve(str(data["effectId"]), ok("done"))
            else:
                writer.append(entry_type, data if entry_type != STOP_HOOK_INVOKED else {"decision": "block"})


def entries(run: Path) -> list[Entry]:
    """The journal, every entry verified."""
    return list(FileReader(run).entries())


def stops(run: Path) -> list[dict[str, Any]]:
    """What the Stop hook wrote into the journal."""
    return [dict(entry.data) for entry in entries(run) if entry.type == STOP_HOOK_INVOKED]


def session_of(path: Path) -> Session:
    """What a session's file says now; it must be whole."""
    file = session_file.read(path)
    assert isinstance(file, SessionFile)
    assert not file.faults
    return file.session


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but our locks, which stay empty."""
    found = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.endswith(".lock")}
