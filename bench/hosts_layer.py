"""What a hook costs its host, beside the other implementation's and beside an interpreter that does nothing.

Ours is started as the installed plugin has its host start it, shell and all; theirs by the command that its plugin
calls. A session without a run is the common case, and its stop starts no interpreter: it is compared with a shell that
does nothing, too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bridle
from bench.measure import CACHE, Target
from bridle.hosts.install import install, render_plugin
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.session import Session
from tests.journal.fixtures.sample_runs import long_run
from tests.real.fixtures.installed_programs import babysitter_program

OURS = "bridle"
THEIRS = "babysitter-sdk 0.0.187"
NOTHING = "python -c pass"
SHELL = "sh -c :"

ROUNDS = 40  # the least of so many is steady within a tenth on a machine that does other things as well
THEIR_ROUNDS = 3  # theirs takes half a second and more, and varies less
WANTED_OF_NOTHING = 2.5
WANTED_WITHOUT_INTERPRETER = 0.5
WANTED_CHEAPER = 10.0

TRANSCRIPT_BYTES = 50_000_000
LONG_EFFECTS = 5_000  # two entries each: 10,000 of them in the journal
STARTED = "2026-03-02T10:00:00Z"
# A hang must not hang the benchmark; the slowest command takes half a minute on a busy machine.
LIMIT_SECONDS = 600


@dataclass(frozen=True)
class Case:
    """One hook in one place."""

    name: str
    event: str
    hook_type: str
    session_id: str
    """The session that stops or starts; `#` is replaced by the number of the round."""
    transcript: str | None = None
    answer: bytes = b"block"
    """What must stand in the answer."""
    wanted: float = WANTED_OF_NOTHING
    """The limit of its CPU, in that of an interpreter that does nothing."""


@dataclass
class Figures:
    """The least that a row took: CPU of the process and all that it starts, and time on the wall."""

    cpu_seconds: float = float("inf")
    wall_seconds: float = float("inf")

    def note(self, cpu_seconds: float, wall_seconds: float) -> None:
        self.cpu_seconds = min(self.cpu_seconds, cpu_seconds)
        self.wall_seconds = min(self.wall_seconds, wall_seconds)


CASES = (
    Case("stop, 20 entries", "Stop", "stop", "short"),
    Case("stop, 10,000 entries", "Stop", "stop", "long"),
    Case("stop, 50 MB of transcript", "Stop", "stop", "told", transcript="long.jsonl"),
    Case("stop, a session without a run", "Stop", "stop", "none", answer=b"{}", wanted=WANTED_WITHOUT_INTERPRETER),
    Case("session-start, a new session", "SessionStart", "session-start", "new-#", answer=b"{}"),
)


def run() -> dict[str, Any]:
    """Measure; the result holds rows for a table, targets, and remarks."""
    (CACHE / "bench").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hosts-", dir=CACHE / "bench") as work:
        folder = Path(work)
        origin = render_plugin.Origin(sys.executable, str(Path(bridle.__file__).parents[1]), bridle.__version__)
        install.install(folder / "plugin", origin)
        for side in ("ours", "theirs"):
            _prepare(folder / side, folder / "plugin")
        found = {(case.name, side): Figures() for case in CASES for side in (OURS, THEIRS)}
        nothing, shell = Figures(), Figures()
        for number in range(ROUNDS + 1):
            is_warm = number > 0  # the first of each warms the caches and is dropped
            _measure([sys.executable, "-c", "pass"], folder, b"", b"", nothing if is_warm else Figures())
            _measure(SHELL.split(), folder, b"", b"", shell if is_warm else Figures())
            for case in CASES:
                command = ["sh", "-c", render_plugin.hook_command(folder / "plugin", origin, case.event)]
                figures = found[case.name, OURS] if is_warm else Figures()
                _measure(command, folder / "ours", _payload(case, folder / "ours", number), case.answer, figures)
                if number <= THEIR_ROUNDS:
                    figures = found[case.name, THEIRS] if is_warm else Figures()
                    place = folder / "theirs"
                    _measure(_theirs(case, place), place, _payload(case, place, number), case.answer, figures)
    return {"rows": _rows(found, nothing, shell), "targets": _targets(found, nothing), "remarks": _remarks()}


def _prepare(project: Path, plugin: Path) -> None:
    """Runs, sessions and transcripts, the same for both sides."""
    runs, state = project / ".a5c" / "runs", _state(project, plugin)
    for name, resolved in (("short", 9), ("told", 9), ("long", LONG_EFFECTS)):
        run_folder = long_run(runs, name, resolved=resolved).run
        session = Session(active=True, run_id=name, max_iterations=0, started_at=STARTED, last_iteration_at=STARTED)
        session_file.write(session_file.new_file(state / f"{name}.md", session, "Build the thing"))
        shutil.rmtree(run_folder / "state", ignore_errors=True)
        (run_folder / "state").mkdir()
    line = json.dumps(
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "on"}]}}
    )
    user = json.dumps({"type": "user", "message": {"role": "user", "content": "x" * 4_000}})
    pair = f"{user}\n{line}\n"
    (project / "short.jsonl").write_text(pair, encoding="utf-8")
    (project / "long.jsonl").write_text(pair * (TRANSCRIPT_BYTES // len(pair) + 1), encoding="utf-8")


def _state(project: Path, plugin: Path) -> Path:
    return plugin / session_file.PLUGIN_STATE if project.name == "ours" else project / "state"


def _payload(case: Case, project: Path, number: int) -> bytes:
    payload = {
        "session_id": case.session_id.replace("#", str(number)),
        "transcript_path": str(project / (case.transcript or "short.jsonl")),
        "cwd": str(project),
        "hook_event_name": case.event,
        "stop_hook_active": True,
        "last_assistant_message": "on",
    }
    return json.dumps(payload).encode() + b"\n"


def _theirs(case: Case, project: Path) -> list[str]:
    words = ["hook:run", "--hook-type", case.hook_type, "--harness", "claude-code", "--json"]
    return [str(babysitter_program()), *words, "--state-dir", str(project / "state"), "--runs-dir", ".a5c/runs"]


def _measure(command: list[str], folder: Path, payload: bytes, answer: bytes, figures: Figures) -> None:
    """One hook from its start to its end, with everything that it starts."""
    home = folder / "home"
    environment = {
        "PATH": f"{babysitter_program().parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "BRIDLE_HOME": str(home),
        "CLAUDE_PROJECT_DIR": str(folder),
        "CLAUDE_CODE_SESSION_ID": json.loads(payload or b"{}").get("session_id", ""),
        "CLAUDE_ENV_FILE": str(folder / "exports.sh"),
        "BRIDLE_NO_PROGRESS_STOPS": "0",
    }
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(payload)
        stdin.seek(0)
        begun = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=stdin, stdout=stdout, stderr=stderr)
        _, status, usage = os.wait4(process.pid, 0)
        wall_seconds = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        stdout.seek(0)
        stderr.seek(0)
        said, told = stdout.read(), stderr.read().decode(errors="replace")
    if process.returncode != 0 or answer not in said:
        raise SystemExit(f"{' '.join(command)} answered {said!r}:\n{told}")
    figures.note(usage.ru_utime + usage.ru_stime, wall_seconds)


def _rows(found: dict[tuple[str, str], Figures], nothing: Figures, shell: Figures) -> list[dict[str, Any]]:
    rows = [_row(case.name, found[case.name, OURS], found[case.name, THEIRS], nothing) for case in CASES]
    return [*rows, _row(NOTHING, nothing, None, nothing), _row(SHELL, shell, None, nothing)]


def _row(name: str, ours: Figures, theirs: Figures | None, nothing: Figures) -> dict[str, Any]:
    return {
        "hook": name,
        f"{OURS} CPU ms": _ms(ours.cpu_seconds),
        "wall ms": _ms(ours.wall_seconds),
        f"{THEIRS} CPU ms": _ms(theirs.cpu_seconds) if theirs is not None else "",
        "its wall ms": _ms(theirs.wall_seconds) if theirs is not None else "",
        "x cheaper": round(theirs.cpu_seconds / ours.cpu_seconds, 1) if theirs is not None else "",
        f"x {NOTHING}": round(ours.cpu_seconds / nothing.cpu_seconds, 2),
    }


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 1)


def _targets(found: dict[tuple[str, str], Figures], nothing: Figures) -> list[Target]:
    return [
        *(
            Target(
                claim=f"{case.name}: CPU of {NOTHING}",
                found=found[case.name, OURS].cpu_seconds / nothing.cpu_seconds,
                wanted=case.wanted,
                at_least=False,
            )
            for case in CASES
        ),
        *(
            Target(
                claim=f"{case.name}: cheaper than {THEIRS}",
                found=found[case.name, THEIRS].cpu_seconds / found[case.name, OURS].cpu_seconds,
                wanted=WANTED_CHEAPER,
            )
            for case in CASES
        ),
    ]


def _remarks() -> list[str]:
    return [
        f"The least of {ROUNDS} ({THEIR_ROUNDS} for theirs), side by side; one more before them is dropped.",
        "Ours: the command in the plugin's hooks.json, with the shell that runs it. Theirs: the one program that its",
        "plugin's shell script starts; the script itself is not in the npm package, and starts more than that.",
    ]
