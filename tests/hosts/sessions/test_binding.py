"""A session bound to a run by run:create: both come to be, or neither; who is not bound is told so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.errors import RunAssociated
from bridle.hosts.sessions import binding
from bridle.hosts.sessions.binding import BindRequest
from bridle.hosts.sessions.session import Session, SessionFile, new_file, new_session
from bridle.journal.stores.file_reader import FileReader
from tests.cli.fixtures.machine_commands import CommandResult, bridle
from tests.fixtures.bridle_program import BRIDLE
from tests.hosts.fixtures.session_folder import SINCE, SessionFolder, make_session, refusal

# A hang is a failure; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60
NOW = "2026-03-02T10:05:30Z"
PROCESS = "async def process(inputs, ctx):\n    return None\n"


@pytest.fixture
def place(tmp_path: Path) -> SessionFolder:
    (tmp_path / "process.py").write_text(PROCESS, encoding="utf-8")
    return SessionFolder(tmp_path)


def create(place: SessionFolder, *words: object, **environment: str) -> CommandResult:
    base = ("run:create", "--process-id", "demo", "--entry", "./process.py#process", "--run-id", "new", "--json")
    return bridle(*base, *words, cwd=place.folder, **environment)


def bind(place: SessionFolder, *words: object, **environment: str) -> CommandResult:
    """Create the run `new` with the session s1."""
    flags = ("--harness", "claude-code", "--session-id", "s1", "--state-dir", place.state)
    return create(place, *flags, *words, **environment)


def runs_of(place: SessionFolder) -> list[str]:
    """Everything in the folder of runs, hidden things too."""
    return sorted(os.listdir(place.runs)) if place.runs.exists() else []


# the decision


def request(**fields: Any) -> BindRequest:
    defaults = {
        "path": Path("s1.md"),
        "run_id": "new",
        "runs": Path("runs"),
        "prompt": "Build it",
        "now": NOW,
    }
    return BindRequest(**{**defaults, **fields})


def there(prompt: str = "Earlier words", **fields: Any) -> SessionFile:
    return new_file(Path("s1.md"), make_session(iteration_times=(45,), **fields), prompt)


def fields(session: Session) -> dict[str, object]:
    return {name: getattr(session, name) for name in Session.__slots__}


def test_a_session_without_a_file_gets_one() -> None:
    file = binding.decide(request(), None)
    assert fields(file.session) == fields(new_session(NOW, run_id="new"))
    assert (file.prompt, file.path) == ("Build it", Path("s1.md"))
    assert binding.decide(request(max_iterations=7), None).session.max_iterations == 7
    assert binding.decide(request(max_iterations=0), None).session.max_iterations == 0


@pytest.mark.parametrize("run_id", ["", "new"])
def test_a_session_without_a_run_or_with_the_same_is_kept_and_made_active(run_id: str) -> None:
    found = there(run_id=run_id, active=False)
    file = binding.decide(request(), found)
    assert fields(file.session) == fields(found.session) | {"run_id": "new", "active": True}
    assert file.body == found.body
    assert binding.decide(request(max_iterations=7), found).session.max_iterations == 7


def test_a_session_that_has_no_words_yet_gets_those_of_the_run() -> None:
    assert binding.decide(request(), there("")).prompt == "Build it"


def test_a_damaged_file_gets_the_prompt_of_the_run_and_keeps_its_text_without_one() -> None:
    damaged = SessionFile(Path("s1.md"), make_session(), b"\xff text", ("a fault",))
    assert binding.decide(request(), damaged).prompt == "Build it"
    assert binding.decide(request(prompt=""), damaged).body == b"\xff text"


@pytest.mark.parametrize("state", ["completed", "failed", "halted"])
def test_a_session_whose_run_has_ended_begins_anew(state: str) -> None:
    file = binding.decide(request(), there(run_id="old", max_iterations=9), state)
    assert fields(file.session) == fields(new_session(NOW, run_id="new"))
    assert file.prompt == "Build it"


@pytest.mark.parametrize("state", ["created", "waiting", "unknown", None])
def test_a_session_whose_run_goes_on_is_refused(state: str | None) -> None:
    with pytest.raises(RunAssociated, match="Session already associated with run: old") as caught:
        binding.decide(request(), there(run_id="old"), state)
    assert caught.value.payload == {"existingRunId": "old", "runState": state or "unknown", "stateFile": "s1.md"}


# by the command


def test_a_run_is_created_as_in_the_formats_own_example(place: SessionFolder) -> None:
    (place.folder / "inputs.json").write_text('{"a": 1}', encoding="utf-8")
    (place.folder / "plugin").mkdir()
    done = bridle(
        *("run:create", "--process-id", "my-process", "--entry", "./process.py#process", "--runs-dir", ".a5c/runs"),
        *("--inputs", "inputs.json", "--run-id", "my-run-abc123", "--process-revision", "v2.1"),
        *("--request", "req-456", "--prompt", "Build the API", "--harness", "claude-code"),
        *("--session-id", "sess-abc123", "--plugin-root", place.folder / "plugin", "--json"),
        cwd=place.folder,
    )
    file = place.folder / "plugin" / "skills" / "babysit" / "state" / "sess-abc123.md"
    assert done.document["session"] == {
        "harness": "claude-code",
        "sessionId": "sess-abc123",
        "stateFile": str(file),
        "bound": True,
        "sessionIdFrom": "--session-id",
    }
    assert (done.code, done.stderr) == (0, "")
    run = FileReader(place.runs / "my-run-abc123")
    assert (run.metadata().harness, run.metadata().prompt) == ("claude-code", "Build the API")
    lines = file.read_text(encoding="utf-8").splitlines()
    moments = [line.partition(" ")[2] for line in lines if "_at:" in line]
    assert moments[0] == moments[1]
    assert [line for line in lines if "_at:" not in line] == [
        "---",
        "active: true",
        "iteration: 1",
        "max_iterations: 65000",
        'run_id: "my-run-abc123"',
        "iteration_times: ",
        "---",
        "",
        "Build the API",
    ]


def test_a_dry_run_says_what_would_be_bound_and_makes_nothing(place: SessionFolder) -> None:
    before = sorted(place.folder.rglob("*"))
    session = bind(place, "--dry-run").document["session"]
    assert (session["sessionId"], session["stateFile"], session["bound"]) == ("s1", str(place.path()), False)
    assert sorted(place.folder.rglob("*")) == before
    place.make_run("old", is_waiting=True)
    place.put(make_session(run_id="old"))
    assert refusal(bind(place, "--dry-run"))["error"] == "RUN_ALREADY_ASSOCIATED"


def test_a_session_that_began_keeps_its_count_and_its_words(place: SessionFolder) -> None:
    place.put(make_session(iteration_times=(45,)), "Words of the session")
    body = place.file().body
    assert bind(place, "--prompt", "Build the API", "--max-iterations", "12").code == 0
    expected = make_session(iteration_times=(45,), run_id="new", max_iterations=12)
    assert (fields(place.file().session), place.file().body) == (fields(expected), body)


def test_a_second_run_is_refused_while_the_first_goes_on_and_nothing_is_made(place: SessionFolder) -> None:
    place.make_run("old", is_waiting=True)
    place.put(make_session(run_id="old"))
    before = place.path().read_bytes()
    refused = refusal(bind(place))
    assert (refused["error"], refused["message"]) == (
        "RUN_ALREADY_ASSOCIATED",
        "Session already associated with run: old",
    )
    assert (refused["existingRunId"], refused["runState"]) == ("old", "waiting")
    assert f"run:halt {place.runs / 'old'}" in refused["remedy"]
    assert runs_of(place) == ["old"]
    assert place.path().read_bytes() == before


@pytest.mark.parametrize("is_there", [False, True])
def test_a_run_that_cannot_be_read_is_not_taken_for_one_that_ended(is_there: bool, place: SessionFolder) -> None:
    if is_there:
        (place.make_run("old", end="RUN_COMPLETED") / "run.json").write_text("{", encoding="utf-8")
    place.put(make_session(run_id="old"))
    assert refusal(bind(place))["runState"] == "unknown"


@pytest.mark.parametrize("end", ["RUN_COMPLETED", "RUN_FAILED", "RUN_HALTED"])
def test_a_run_that_ended_is_replaced(end: str, place: SessionFolder) -> None:
    place.make_run("old", end=end)
    place.put(make_session(run_id="old", active=False), "Earlier words")
    assert bind(place, "--prompt", "Next").document["session"]["bound"] is True
    session = place.file().session
    assert (session.run_id, session.active, session.iteration, place.file().prompt) == ("new", True, 1, "Next")


@pytest.mark.parametrize("garbage", [b"", b"\0\xff", b"---\nactive: maybe\nrun_id: ../x\n---\n", b"---\nrun_id: old\n"])
def test_a_corrupted_session_file_is_written_anew_and_that_is_reported(garbage: bytes, place: SessionFolder) -> None:
    place.state.mkdir()
    place.path().write_bytes(garbage)
    done = bind(place)
    assert (place.file().session.run_id, place.file().session.active, place.file().faults) == ("new", True, ())
    assert done.document["session"]["warnings"]
    assert str(place.path()) in done.stderr


@pytest.mark.parametrize("what", ["folder", "link", "pipe"])
def test_what_is_no_session_file_refuses_the_binding_before_the_run_is_made(what: str, place: SessionFolder) -> None:
    place.state.mkdir()
    if what == "folder":
        place.path().mkdir()
    elif what == "link":
        place.path().symlink_to("elsewhere.md")
    else:
        os.mkfifo(place.path())
    assert refusal(bind(place))["error"] == "FS_ERROR"
    assert runs_of(place) == []


def test_a_folder_of_session_files_that_is_a_file_refuses_the_binding(place: SessionFolder) -> None:
    place.state.write_text("", encoding="utf-8")
    assert refusal(bind(place))["error"] == "FS_ERROR"
    assert runs_of(place) == []


def test_a_process_that_cannot_run_binds_nothing(place: SessionFolder) -> None:
    (place.folder / "process.py").write_text("nonsense(", encoding="utf-8")
    assert refusal(bind(place))["error"] == "PROCESS_NOT_LOADED"
    assert (runs_of(place), place.path().exists()) == ([], False)


def test_a_run_id_that_is_taken_binds_nothing(place: SessionFolder) -> None:
    place.make_run("new")
    place.put(make_session())
    before = place.path().read_bytes()
    assert refusal(bind(place))["error"] == "RUN_EXISTS"
    assert place.path().read_bytes() == before


@pytest.mark.parametrize("session", ["../x", ".", "a/b", "x" * 300, "a\nb"], ids=ascii)
def test_a_session_id_that_could_lead_elsewhere_is_refused(session: str, place: SessionFolder) -> None:
    before = sorted(place.folder.rglob("*"))
    for harness in (("--harness", "claude-code"), ("--harness", "nobody-knows-it"), ()):
        refused = refusal(create(place, f"--session-id={session}", *harness))
        assert (refused["error"], "the session id" in refused["message"]) == ("USAGE", True)
    assert sorted(place.folder.rglob("*")) == before


def test_a_session_id_that_is_an_unexpanded_variable_is_refused(place: SessionFolder) -> None:
    refused = refusal(create(place, "--harness", "claude-code", "--session-id", "${AGENT_SESSION_ID}"))
    assert (refused["error"], "unexpanded variable" in refused["message"]) == ("USAGE", True)
    assert runs_of(place) == []


# which session


def test_the_flag_counts_and_not_what_was_inherited(place: SessionFolder) -> None:
    done = bind(place, AGENT_SESSION_ID="stale", BABYSITTER_SESSION_ID="older")
    assert (done.document["session"]["sessionId"], done.stderr) == ("s1", "")


def test_a_flag_that_contradicts_the_host_counts_and_is_reported(place: SessionFolder) -> None:
    done = bind(place, CLAUDE_CODE_SESSION_ID="s2")
    assert done.document["session"]["sessionId"] == "s1"
    assert "'s2'" in done.document["session"]["warnings"][0]
    assert "'s2'" in done.stderr


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"AGENT_SESSION_ID": "a", "BABYSITTER_SESSION_ID": "b"}, ("a", "AGENT_SESSION_ID")),
        ({"BABYSITTER_SESSION_ID": "b"}, ("b", "BABYSITTER_SESSION_ID")),
        ({"CLAUDE_CODE_SESSION_ID": "c", "AGENT_SESSION_ID": "a"}, ("c", "CLAUDE_CODE_SESSION_ID")),
    ],
    ids=["exported", "of the other implementation", "of the host itself"],
)
@pytest.mark.parametrize("flags", [(), ("--session-id", "")], ids=["no flag", "empty flag"])
def test_an_inherited_id_is_the_last_resort_and_is_reported(
    environment: dict[str, str], expected: tuple[str, str], flags: tuple[str, ...], place: SessionFolder
) -> None:
    done = create(place, "--harness", "claude-code", "--state-dir", place.state, *flags, **environment)
    session = done.document["session"]
    assert (session["sessionId"], session["sessionIdFrom"]) == expected
    assert f"inherited through ${expected[1]}" in done.stderr
    assert session["warnings"][0] in done.stderr
    assert place.file(expected[0]).session.run_id == "new"


def test_a_run_that_is_bound_to_no_session_says_so_loudly(place: SessionFolder) -> None:
    done = create(place, "--harness", "claude-code")
    session = done.document["session"]
    assert (done.code, session["bound"], session["sessionId"]) == (0, False, "")
    assert "no session id" in session["error"]
    assert "NOT BOUND" in done.stderr
    assert not (place.folder / ".a5c" / "state").exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--harness", "cursor", "--session-id", "s1"), "unknown host 'cursor'"),
        (("--session-id", "s1"), "pass --harness"),
        (("--harness", "none", "--session-id", "s1"), "pass --harness"),
    ],
    ids=["unknown host", "no host", "the null host"],
)
def test_a_session_of_no_known_host_is_not_bound_and_that_is_reported(
    words: tuple[str, ...], reason: str, place: SessionFolder
) -> None:
    done = create(place, *words)
    assert (done.code, done.document["session"]["bound"]) == (0, False)
    assert reason in done.document["session"]["error"]
    assert "NOT BOUND" in done.stderr


def test_a_run_without_a_session_says_nothing_about_one(place: SessionFolder) -> None:
    done = create(place)
    assert ("session" in done.document, done.stderr) == (False, "")


def test_a_run_that_was_created_inside_a_host_without_its_session_says_so(place: SessionFolder) -> None:
    done = create(place, AGENT_SESSION_ID="s1")
    assert (done.code, "session" in done.document) == (0, False)
    assert "not bound to a session" in done.stderr
    assert not place.state.exists()


def test_the_host_is_found_by_its_variables(place: SessionFolder) -> None:
    done = create(place, "--session-id", "t1", "--state-dir", place.state, CODEX_THREAD_ID="t1")
    assert (done.document["session"]["harness"], place.file("t1").session.run_id) == ("codex", "new")
    assert FileReader(place.runs / "new").metadata().harness == "codex"


# both, or neither

# Dies when the run has its name (`made`), when the session file is about to be written, or when it has been.
KILLED = """
import os, signal, sys
from bridle.cli import main

moment = sys.argv.pop(1)
deaths = {
    "made": ("session_file.py", "write", "call"),
    "about to bind": ("disk.py", "write_atomic", "call"),
    "bound": ("session_file.py", "write", "return"),
}


def trace(frame, event, argument):
    if frame.f_back is not None and os.path.basename(frame.f_back.f_code.co_filename) == "own_runs.py":
        return trace  # the record of the run, which comes before its name
    if (os.path.basename(frame.f_code.co_filename), frame.f_code.co_name, event) == deaths[moment]:
        os.kill(os.getpid(), signal.SIGKILL)
    return trace


sys.settrace(trace)
sys.exit(main.run(sys.argv[1:]))
"""
# No file may be larger than what a run needs, and the session's is.
SMALL_FILES = """
import resource, sys
from bridle.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
sys.exit(main.run(sys.argv[1:]))
"""


def bind_by(code: str, place: SessionFolder, *words: str) -> subprocess.CompletedProcess[str]:
    """Create the run `new` with the session s1, in a process to which something happens."""
    command = ("run:create", "--process-id", "demo", "--entry", "./process.py#process", "--run-id", "new", "--json")
    flags = ("--harness", "claude-code", "--session-id", "s1", "--state-dir", str(place.state))
    return subprocess.run(
        [sys.executable, "-c", code, *words, *command, *flags],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        cwd=place.folder,
        check=False,
    )


@pytest.mark.parametrize("moment", ["made", "about to bind"])
@pytest.mark.parametrize("is_begun", [False, True], ids=["new session", "session that began"])
def test_a_process_killed_before_the_binding_leaves_a_whole_run_and_no_session(
    moment: str, is_begun: bool, place: SessionFolder
) -> None:
    if is_begun:
        place.put(make_session())
    assert bind_by(KILLED, place, moment).returncode == -signal.SIGKILL
    assert FileReader(place.runs / "new").position().state == "created"
    assert (place.file().session.run_id if is_begun else place.path().exists()) in ("", False)
    again = bridle("session:init", "--session-id", "s2", "--state-dir", place.state, cwd=place.folder)
    assert again.code == 0
    assert refusal(bind(place))["error"] == "RUN_EXISTS"
    bound = bind(place, "--run-id", "newer")
    assert (bound.code, place.file().session.run_id) == (0, "newer")


def test_a_process_killed_after_the_binding_leaves_both(place: SessionFolder) -> None:
    assert bind_by(KILLED, place, "bound").returncode == -signal.SIGKILL
    assert FileReader(place.runs / "new").position().state == "created"
    assert place.file().session.run_id == "new"


def test_a_binding_that_cannot_be_written_takes_the_run_back(place: SessionFolder) -> None:
    place.put(make_session(), "x" * 5000)
    before = place.path().read_bytes()
    done = bind_by(SMALL_FILES, place)
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(done.stderr)["error"] == "FS_ERROR"
    assert runs_of(place) == []
    assert place.path().read_bytes() == before
    assert bind(place).code == 0


def test_of_several_runs_for_one_session_one_is_made(place: SessionFolder) -> None:
    words = ("run:create", "--process-id", "demo", "--entry", "./process.py#process", "--json")
    flags = ("--harness", "claude-code", "--session-id", "s1", "--state-dir", str(place.state))
    children = [
        subprocess.Popen(
            [str(BRIDLE), *words, *flags, "--run-id", f"run-{number}"],
            cwd=place.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for number in range(5)
    ]
    ends = [child.communicate(timeout=LIMIT_SECONDS)[1] for child in children]
    assert sorted(child.returncode for child in children) == [0, 1, 1, 1, 1]
    assert runs_of(place) == [place.file().session.run_id]
    refused = [json.loads(end)["error"] for end in ends if end]
    assert refused == ["RUN_ALREADY_ASSOCIATED"] * 4


def test_the_session_of_another_agent_is_left_alone(place: SessionFolder) -> None:
    place.put(make_session(), name="other")
    before = place.path("other").read_bytes()
    assert bind(place).code == 0
    assert place.path("other").read_bytes() == before
    assert place.file("other").session.started_at == SINCE


def test_a_user_who_answers_elsewhere_is_informed_how_the_session_continues(place: SessionFolder) -> None:
    asks = "async def process(inputs, ctx):\n    return await ctx.breakpoint({'question': 'Ship?'}, label='ship')\n"
    (place.folder / "process.py").write_text(asks, encoding="utf-8")
    bind(place)
    effect = bridle("run:iterate", "new", "--json", cwd=place.folder).document["nextActions"][0]["effectId"]
    done = bridle("answer", effect, "yes", "new", cwd=place.folder)
    assert done.stdout == "answered; continue with: /bridle:resume new in the session, or bridle drive new\n"
