"""The other implementation's Stop hook in the same places: where behaviour is meant to be the same, it is."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bridle.hosts.sessions import session_file
from tests.hosts.fixtures.hook_project import Project, session_of, stop_entries
from tests.hosts.fixtures.stop_hook_cases import CASES, Case, fill_in_folder, prepare_case
from tests.real.fixtures.installed_programs import babysitter_program

pytestmark = pytest.mark.real

# A hang is a failure; theirs takes some seconds to start on a busy machine.
LIMIT_SECONDS = 120

# Cases of our table in which both mean the same. Not among them: what our interface amends (inactive sessions, the
# payload's words beside those of the transcript, runs that cannot be read, stops in a row).
SHARED = [
    "a payload without a session, whatever the environment holds",
    "a session at its limit",
    "a session without a limit",
    "a run that was just created",
    "a run that waits for several kinds",
    "a run that waits for a person",
    "a run that waits for a person and an agent",
    "a run that failed",
    "a completed run without a promise",
    "a wrong proof",
    "the proof in earlier words",
    "the proof of a run that has none of its own",
    "the proof, with white space around it",
    "the proof, in the payload alone",
]
TOLD = ("sessionId", "iteration", "decision", "reason", "runState", "pendingKinds", "hasPromise")


def told(project: Project, answer: bytes, path: Path) -> dict[str, Any]:
    """What can be compared of a stop: the decision, the entry, and how far the session is."""
    run = project.runs / "r"
    entry = stop_entries(run)[-1] if stop_entries(run) else {}
    session = session_of(path) if path.exists() else None
    return {
        "decision": json.loads(answer).get("decision"),
        "entry": {name: entry.get(name) for name in TOLD},
        "fields": [name for name in entry if name in (*TOLD, "timestamp")],
        # Theirs removes the file of a session that is over, ours marks it.
        "iteration": session.iteration if session is not None and session.active else None,
    }


def case_of(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


@pytest.mark.parametrize("name", SHARED)
def test_both_decide_the_same(name: str, tmp_path: Path) -> None:
    case = case_of(name)
    found = {}
    for side in ("ours", "theirs"):
        project = Project(tmp_path / side)
        path = prepare_case(case, project)
        payload = case.payload if isinstance(case.payload, bytes) else project.payload(**case.payload)
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        environment = fill_in_folder(case.environment, project.folder)
        if side == "ours":
            answer = project.hook(data, environment=environment).stdout
        else:
            answer = their_answer(project, data, environment)
        found[side] = told(project, answer, path)
    assert found["ours"] == found["theirs"]


def their_answer(project: Project, payload: bytes, environment: dict[str, str]) -> bytes:
    program = babysitter_program()
    words = ["hook:run", "--hook-type", "stop", "--harness", "claude-code", "--json"]
    places = ["--state-dir", str(project.state), "--runs-dir", str(project.runs)]
    done = subprocess.run(
        [str(program), *words, *places],
        input=payload,
        cwd=project.folder,
        env=project.environment(**environment, PATH=f"{program.parent}:/usr/local/bin:/usr/bin:/bin"),
        capture_output=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_both_make_the_same_file_for_a_new_session(tmp_path: Path) -> None:
    program, sessions = babysitter_program(), {}
    for side in ("ours", "theirs"):
        project = Project(tmp_path / side)
        payload = json.dumps(project.payload("sess-1", source="startup")).encode()
        exports = project.folder / "exports.sh"
        if side == "ours":
            project.hook(payload, hook_type="session-start", environment={"CLAUDE_ENV_FILE": str(exports)})
        else:
            words = ["hook:run", "--hook-type", "session-start", "--harness", "claude-code", "--json"]
            subprocess.run(
                [str(program), *words, "--state-dir", str(project.state)],
                input=payload,
                cwd=project.folder,
                env=project.environment(
                    CLAUDE_ENV_FILE=str(exports), PATH=f"{program.parent}:/usr/local/bin:/usr/bin:/bin"
                ),
                capture_output=True,
                timeout=LIMIT_SECONDS,
                check=True,
            )
        file = session_file.read(project.state / "sess-1.md")
        assert file is not None
        names = [line.partition(b":")[0] for line in (project.state / "sess-1.md").read_bytes().splitlines()]
        sessions[side] = (names[:9], file.session.active, file.session.iteration, file.session.run_id, file.faults)
        assert exports.read_text(encoding="utf-8").rstrip().endswith('SESSION_ID="sess-1"')
    assert sessions["ours"] == sessions["theirs"]
