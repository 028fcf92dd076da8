"""The other implementation's commands about sessions, side by side with Bridle's on the same files."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bridle.hosts.sessions import session_file
from tests.cli.fixtures.machine_commands import bridle
from tests.hosts.fixtures.session_folder import SINCE, SessionFolder, make_session
from tests.real.fixtures.babysitter import babysitter
from tests.real.fixtures.installed_programs import babysitter_program

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("babysitter sessions")]  # its answers are made once

# A hang is a failure; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 120

Shape = object

# The other program's own command line, called once for each case in one process: starting it takes half a second.
MANY = """
const { createBabysitterCli } = require(process.argv[1]);
(async () => {
  const ends = [];
  for (const [folder, words] of JSON.parse(process.argv[2])) {
    const said = { stdout: "", stderr: "" };
    console.log = (text) => { said.stdout += text + "\\n"; };
    console.error = (text) => { said.stderr += text + "\\n"; };
    process.chdir(folder);
    const code = await createBabysitterCli().run(words);
    ends.push({ code, ...said });
  }
  process.stdout.write(JSON.stringify(ends));
})();
"""


@dataclass(frozen=True)
class Answer:
    """How a command ended: its exit code, and its document on stdout, or its error code on stderr."""

    code: int
    error: str | None
    document: Any

    @property
    def shape(self) -> Shape:
        """The names and kinds of everything in the document."""
        return _shape(self.document)


@dataclass(frozen=True)
class Case:
    """One command line in a folder of its own, and what stands there before."""

    words: tuple[str, ...]
    prepare: Callable[[SessionFolder], None] = lambda place: None
    error: str | None = None
    """The error code of both."""


def _shape(value: object) -> Shape:
    if isinstance(value, dict):
        return {name: _shape(inner) for name, inner in value.items()}
    return type(value).__name__


def _runs(place: SessionFolder) -> None:
    place.make_run("waiting", is_waiting=True)
    place.make_run("completed", end="RUN_COMPLETED")
    place.make_run("failed", end="RUN_FAILED")


def _with(run_id: str = "", **fields: Any) -> Callable[[SessionFolder], None]:
    def prepare(place: SessionFolder) -> None:
        _runs(place)
        place.put(make_session(run_id=run_id, **fields), "Build the thing")

    return prepare


def _transcript(*texts: str) -> Callable[[SessionFolder], None]:
    def prepare(place: SessionFolder) -> None:
        lines = [{"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}} for text in texts]
        (place.folder / "t.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    return prepare


WHICH = ("--session-id", "s1", "--state-dir", "state")
TO = ("--runs-dir", ".a5c/runs", "--run-id")

# What both answer alike: the same exit code, the same error code or the same names and kinds in the same order.
SAME = {
    "state of nobody": Case(("session:state", *WHICH)),
    "state": Case(("session:state", *WHICH), _with("waiting", iteration_times=(45, 62, 58))),
    "init": Case(("session:init", *WHICH, "--max-iterations", "9", "--prompt", "Build", "--run-id", "r")),
    "init twice": Case(("session:init", *WHICH), _with(), error="SESSION_EXISTS"),
    "init of a bound one": Case(("session:init", *WHICH), _with("waiting"), error="SESSION_EXISTS"),
    "init of nobody": Case(("session:init", "--state-dir", "state"), error="MISSING_SESSION_ID"),
    "associate": Case(("session:associate", *WHICH, *TO, "waiting"), _with()),
    "associate nobody": Case(("session:associate", *WHICH, *TO, "waiting"), error="SESSION_NOT_FOUND"),
    "associate to nothing": Case(("session:associate", *WHICH), _with(), error="MISSING_RUN_ID"),
    "associate twice": Case(
        ("session:associate", *WHICH, *TO, "failed"), _with("waiting"), error="RUN_ALREADY_ASSOCIATED"
    ),
    "force from a live run": Case(
        ("session:associate", *WHICH, *TO, "failed", "--force"), _with("waiting"), error="RUN_STILL_ACTIVE"
    ),
    "force from an ended run": Case(("session:associate", *WHICH, *TO, "waiting", "--force"), _with("completed")),
    "resume": Case(("session:resume", *WHICH, *TO, "waiting"), _runs),
    "resume a failed run": Case(("session:resume", *WHICH, *TO, "failed"), _runs),
    "resume a completed run": Case(("session:resume", *WHICH, *TO, "completed"), _runs, error="RUN_COMPLETED"),
    "resume a lost run": Case(("session:resume", *WHICH, *TO, "gone"), _runs, error="RUN_NOT_FOUND"),
    "update": Case(("session:update", *WHICH, "--iteration", "7", "--iteration-times", "1,2"), _with("waiting")),
    "update nobody": Case(("session:update", *WHICH, "--iteration", "7"), error="SESSION_NOT_FOUND"),
    "delete": Case(("session:update", *WHICH, "--delete"), _with()),
    "delete nobody": Case(("session:update", *WHICH, "--delete")),
    "check": Case(("session:check-iteration", *WHICH), _with("waiting", iteration_times=(45, 62, 58))),
    "check nobody": Case(("session:check-iteration", *WHICH)),
    "check at the limit": Case(("session:check-iteration", *WHICH), _with("waiting", max_iterations=3)),
    "last message": Case(("session:last-message", "--transcript-path", "t.jsonl"), _transcript("a", "b")),
    "last promise": Case(
        ("session:last-message", "--transcript-path", "t.jsonl"), _transcript("a", "x <promise> p\n q </promise>")
    ),
    "no last message": Case(("session:last-message", "--transcript-path", "t.jsonl"), _transcript()),
    "no transcript": Case(("session:last-message", "--transcript-path", "none.jsonl")),
}


def _folder(place: SessionFolder) -> None:
    place.path().mkdir(parents=True)


def _quick(place: SessionFolder) -> None:
    place.state.mkdir()
    place.path().write_text(
        f'---\nactive: true\niteration: 20\nmax_iterations: 0\nrun_id: "r"\nstarted_at: "{SINCE}"\n'
        f'last_iteration_at: ""\niteration_times: {",".join("1" * 10)}\n---\n\nGo\n',
        encoding="utf-8",
    )


# Where Bridle differs on purpose: what the other one answers, what Bridle answers, and why.
AMENDED: dict[str, tuple[Case, dict[str, object], dict[str, object], str]] = {
    "default limit": (
        Case(("session:init", *WHICH)),
        {"maxIterations": 256},
        {"maxIterations": 65000},
        "the interface: 65000 unless said otherwise",
    ),
    "no folder given": (
        Case(("session:state", "--session-id", "s1")),
        {"error": "MISSING_STATE_DIR"},
        {"found": False},
        "the interface: the folder of session files has an order of defaults",
    ),
    "check without a session": (
        Case(("session:check-iteration", "--state-dir", "state")),
        {"error": "MISSING_ARGS"},
        {"error": "MISSING_SESSION_ID"},
        "one code for one fault",
    ),
    "a session that is not active": (
        Case(("session:check-iteration", *WHICH), _with("waiting", active=False)),
        {"shouldContinue": True},
        {"shouldContinue": False, "reason": "session_inactive"},
        "the interface: active: false means approve",
    ),
    "ten quick iterations": (
        Case(("session:check-iteration", *WHICH), _quick),
        {"shouldContinue": False, "reason": "iteration_too_fast"},
        {"shouldContinue": True},
        "the interface: no guard against quick iterations",
    ),
    "a folder in the file's place": (
        Case(("session:state", *WHICH), _folder),
        {"error": "CORRUPTED_STATE"},
        {"error": "FS_ERROR"},
        "what cannot be read is the file system's fault; what is garbage is survived",
    ),
    "an id that leads elsewhere": (
        Case(("session:init", "--session-id", "../escaped", "--state-dir", "state")),
        {"iteration": 1},
        {"error": "USAGE"},
        "the interface: ids never reach a path unchecked",
    ),
    "force from a lost run": (
        Case(("session:associate", *WHICH, *TO, "waiting", "--force"), _with("gone")),
        {"error": "RUN_STILL_ACTIVE"},
        {"runId": "waiting"},
        "a run that is not there holds nobody, and nobody could end it",
    ),
    "a session that is held for another run": (
        Case(("session:resume", *WHICH, *TO, "failed"), _with("waiting")),
        {"runId": "failed"},
        {"error": "RUN_STILL_ACTIVE"},
        "a session has one run at a time",
    ),
}


def _answer(code: int, stdout: str, stderr: str) -> Answer:
    document = json.loads(stdout) if stdout.strip() else None
    error = json.loads(stderr[stderr.index("{") :])["error"] if document is None else None
    return Answer(code, error, document)


def _ours(folder: Path, case: Case) -> Answer:
    done = bridle(*case.words, "--json", cwd=folder)
    return _answer(done.code, done.stdout, done.stderr)


def _theirs(folders: Mapping[str, Path], cases: Mapping[str, Case], home: Path) -> dict[str, Answer]:
    lines = [(str(folders[name]), [*case.words, "--json"]) for name, case in cases.items()]
    program = os.path.realpath(babysitter_program())
    done = subprocess.run(
        ["node", "-e", MANY, program, json.dumps(lines)],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "NO_COLOR": "1"},
        check=True,
    )
    ends = json.loads(done.stdout)
    return {name: _answer(**end) for name, end in zip(cases, ends, strict=True)}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Answer, Answer]]:
    """What both answer to every case, the other one's first."""
    base = tmp_path_factory.mktemp("side-by-side")
    cases = {**SAME, **{name: amended[0] for name, amended in AMENDED.items()}}
    folders = {whose: {name: base / whose / name for name in cases} for whose in ("ours", "theirs")}
    for places in folders.values():
        for name, folder in places.items():
            folder.mkdir(parents=True)
            cases[name].prepare(SessionFolder(folder))
    other = _theirs(folders["theirs"], cases, base)
    return {name: (other[name], _ours(folders["ours"][name], case)) for name, case in cases.items()}


@pytest.mark.parametrize("name", SAME)
def test_both_answer_alike(name: str, answers: dict[str, tuple[Answer, Answer]]) -> None:
    other, own = answers[name]
    assert (own.code, own.error) == (other.code, other.error) == (1 if SAME[name].error else 0, SAME[name].error)
    assert own.shape == other.shape
    assert json.dumps(own.shape) == json.dumps(other.shape), "in the same order"


@pytest.mark.parametrize("name", AMENDED)
def test_bridle_differs_where_its_interface_says_so(name: str, answers: dict[str, tuple[Answer, Answer]]) -> None:
    _, expected_other, expected_own, reason = AMENDED[name]
    assert reason
    for answer, expected in zip(answers[name], (expected_other, expected_own), strict=True):
        found = {"error": answer.error} if answer.error is not None else dict(answer.document)
        assert {key: found.get(key) for key in expected} == expected


def test_each_reads_what_the_other_wrote(tmp_path: Path) -> None:
    words = ("--state-dir", str(tmp_path), "--max-iterations", "9", "--prompt", "Build é\n\n---\n\nit", "--json")
    made = babysitter("session:init", "--session-id", "theirs", *words, home=tmp_path)
    assert made.returncode == 0, made.stderr
    assert bridle("session:init", "--session-id", "ours", *words).code == 0
    files = {name: tmp_path / f"{name}.md" for name in ("ours", "theirs")}
    moments = {name: read.session.started_at for name, path in files.items() if (read := session_file.read(path))}
    texts = [files[name].read_text(encoding="utf-8").replace(moments[name], "NOW") for name in files]
    assert texts[0] == texts[1], "both write the same bytes"
    for name in files:
        which = ("session:state", "--session-id", name, "--state-dir", str(tmp_path), "--json")
        done = babysitter(*which, home=tmp_path)
        assert json.loads(done.stdout) == bridle(*which).document
    changed = ("session:update", "--state-dir", str(tmp_path), "--iteration", "4", "--session-id", "ours", "--json")
    assert babysitter(*changed, home=tmp_path).returncode == 0
    read = session_file.read(files["ours"])
    assert read is not None
    assert (read.session.iteration, read.faults, os.listdir(tmp_path).count("ours.md")) == (4, (), 1)
