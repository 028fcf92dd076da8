"""The Stop hook, case by case: what a session's file, its run, its transcript and its payload may be like."""

from __future__ import annotations

import json
import os
import resource
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bridle.hosts.hooks.stop_message import PROMPT_LIMIT_CHARACTERS
from bridle.hosts.sessions import session_file
from bridle.journal.format import layout
from bridle.journal.format.digest import sha256
from tests.hosts.fixtures.hook_project import (
    BEFORE,
    PROMPT,
    PROOF,
    Project,
    contents,
    entries,
    extend,
    said,
    session_of,
    stops,
)

AGENT = "ask:a/agent"
COMPLETED = "ask:a ok:a completed"
PROMISE = f"It is done. <promise>{PROOF}</promise>"
FEEDBACK = {"type": "user", "isMeta": True, "message": {"role": "user", "content": "Stop hook feedback:\nGo on."}}

HELD = "held"
"""The session's file goes on by one iteration and stays active."""
OVER = "over"
"""The session is marked inactive; nothing else changes."""
SAME = "same"
"""The session's file is left as it is, byte for byte."""


@dataclass(frozen=True)
class Case:
    """One stop: what is there, and what must come of it."""

    name: str
    run: str | None = AGENT
    """The entries of the run behind its first; None for no run at all."""
    is_interactive: bool = True
    session: dict[str, Any] | bytes | None = field(default_factory=dict)
    """Fields of the session's file, or the whole of it, or None for no file."""
    payload: dict[str, object] | bytes = field(default_factory=dict)
    """What is different in the payload, or the whole of it."""
    says: tuple[object, ...] = ("working",)
    """The transcript."""
    environment: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[Project], object] | None = None
    reason: str | None = "continue_loop"
    """What STOP_HOOK_INVOKED says; None where nothing may be written into the journal."""
    then: str = HELD
    kinds: str | None = None
    """What STOP_HOOK_INVOKED says of the effects that wait."""
    has_promise: bool = False
    words: tuple[str, ...] = ()
    """What the agent is told, among other things."""
    stderr: str = ""
    """What is said to the person, among other things; nothing may be said where this is empty."""


def raw(text: str) -> bytes:
    return text.encode()


def frontmatter(**changes: object) -> bytes:
    fields = {
        "active": "true",
        "iteration": 3,
        "max_iterations": 256,
        "run_id": '"r"',
        "started_at": f'"{BEFORE}"',
        "last_iteration_at": f'"{BEFORE}"',
        "iteration_times": "",
    } | changes
    lines = "".join(f"{name}: {value}\n" for name, value in fields.items() if value is not None)
    return f"---\n{lines}---\n\n{PROMPT}\n".encode()


def journal(project: Project) -> Path:
    return project.runs / "r" / layout.JOURNAL


def last_entry(project: Project) -> Path:
    return sorted(journal(project).iterdir())[-1]


def without_pack(project: Project) -> None:
    shutil.rmtree(project.runs / "r" / layout.STATE)


def spoil(change: Callable[[bytes], bytes]) -> Callable[[Project], None]:
    """Change the last entry's file behind the back of everybody."""

    def prepare(project: Project) -> None:
        path = last_entry(project)
        path.write_bytes(change(path.read_bytes()))
        without_pack(project)

    return prepare


def gap(project: Project) -> None:
    path = last_entry(project)
    path.rename(path.with_name("000009" + path.name[6:]))
    without_pack(project)


def metadata(change: Callable[[dict[str, Any]], object]) -> Callable[[Project], None]:
    def prepare(project: Project) -> None:
        path = project.runs / "r" / layout.RUN_FILE
        document = json.loads(path.read_text(encoding="utf-8"))
        change(document)
        path.write_text(json.dumps(document), encoding="utf-8")

    return prepare


def foreign_lock(text: str) -> Callable[[Project], object]:
    return lambda project: (project.runs / "r" / layout.FOREIGN_LOCK_FILE).write_text(text, encoding="utf-8")


def many_skills(project: Project) -> None:
    for number in range(8):
        (project.folder / ".claude" / "skills" / f"skill-{number}").mkdir(parents=True)
    agents = project.folder / ".claude" / "agents"
    agents.mkdir()
    for name in ("b.md", "a.md", "z.md", "notes.txt", "bad\nname.md", ".hidden.md"):
        (agents / name).write_text("", encoding="utf-8")


def fifo(name: str) -> Callable[[Project], None]:
    def prepare(project: Project) -> None:
        os.mkfifo(project.folder / name)

    return prepare


PAYLOADS = [
    Case("an empty payload", payload=b"", reason=None, then=SAME, stderr="must be a JSON object"),
    Case("a payload that is no JSON", payload=b"{", reason=None, then=SAME, stderr="must be a JSON object"),
    Case("a payload that is a list", payload=b"[1]", reason=None, then=SAME, stderr="must be a JSON object"),
    Case("a payload that is null", payload=b"null", reason=None, then=SAME, stderr="must be a JSON object"),
    Case(
        "a payload that is no UTF-8",
        payload=b'{"session_id": "\xff"}',
        reason=None,
        then=SAME,
        stderr="must be a JSON object",
    ),
    Case("a payload nested too deeply", payload=b"[" * 200_000, reason=None, then=SAME, stderr="must be a JSON object"),
    Case(
        "a payload without end",
        payload=b'{"session_id": "s", "x": "' + b"x" * 17_000_000,
        reason=None,
        then=SAME,
        stderr="must be a JSON object",
    ),
    Case(
        "a payload without a session, whatever the environment holds",
        payload=b"{}",
        environment=dict.fromkeys(("AGENT_SESSION_ID", "CLAUDE_CODE_SESSION_ID", "BABYSITTER_SESSION_ID"), "s"),
        reason=None,
        then=SAME,
        stderr="has no session_id",
    ),
    Case(
        "a session id that is a number", payload={"session_id": 7}, reason=None, then=SAME, stderr="has no session_id"
    ),
    Case("a session id of spaces", payload={"session_id": "  "}, reason=None, then=SAME, stderr="has no session_id"),
    Case("a session id that climbs", payload={"session_id": "../s"}, reason=None, then=SAME, stderr="path separator"),
    Case("a session id with a NUL", payload={"session_id": "s\0"}, reason=None, then=SAME, stderr="control character"),
    Case("a session id half a letter", payload={"session_id": "\ud800"}, reason=None, then=SAME, stderr="cannot be"),
    Case("a session id too long", payload={"session_id": "s" * 300}, reason=None, then=SAME, stderr="longer than"),
    Case("another session of the project", payload={"session_id": "other"}, reason=None, then=SAME),
    Case(
        "another session of the project, with our id in its environment",
        payload={"session_id": "other"},
        environment={"AGENT_SESSION_ID": "s"},
        reason=None,
        then=SAME,
    ),
    Case("the end of a sub-agent", payload={"hook_event_name": "SubagentStop"}, reason=None, then=SAME),
    Case("a stop inside a sub-agent", payload={"agent_id": "ac1d"}, reason=None, then=SAME),
    Case("a stop after a stop that was held", payload={"stop_hook_active": True}),
    Case("a stop after none that was held", payload={"stop_hook_active": False}),
    Case("a folder that is no text", payload={"cwd": 7}),
    Case("a folder that is nowhere", payload={"cwd": "/nowhere/at/all"}, environment={"CLAUDE_PROJECT_DIR": "HERE"}),
    Case("a folder with a NUL", payload={"cwd": "/a\0b"}),
    Case("a folder below the project's", payload={"cwd": "HERE/src/deep"}, environment={"CLAUDE_PROJECT_DIR": "HERE"}),
]
SESSIONS = [
    Case("a session without a file", session=None, reason=None, then=SAME),
    Case("an inactive session", session={"active": False}, reason="session_inactive", then=SAME),
    Case(
        "an inactive session at its limit",
        session={"active": False, "iteration": 9, "max_iterations": 9},
        reason="session_inactive",
        then=SAME,
    ),
    Case("a session without a run", session={"run_id": ""}, reason=None, then=OVER),
    Case("an inactive session without a run", session={"run_id": "", "active": False}, reason=None, then=SAME),
    Case("a session at its limit", session={"max_iterations": 3}, reason="max_iterations_reached", then=OVER),
    Case("a session beyond its limit", session={"max_iterations": 2}, reason="max_iterations_reached", then=OVER),
    Case("a session before its limit", session={"max_iterations": 4}, words=("iteration 4 ",)),
    Case("a session without a limit", session={"max_iterations": 0, "iteration": 999_999}),
    Case("a session's file that is empty", session=b"", reason=None, then=SAME, stderr="frontmatter must be"),
    Case(
        "a session's file of garbage",
        session=b"\x00\xff" * 99,
        reason=None,
        then=SAME,
        stderr="the frontmatter must be",
    ),
    Case(
        "a session's file cut short",
        session=b"---\nactive: true\n",
        reason=None,
        then=SAME,
        stderr="the frontmatter must be",
    ),
    Case(
        "a run id that climbs",
        session=frontmatter(run_id='"../r"'),
        reason=None,
        then=SAME,
        stderr="path separator",
    ),
    Case("an iteration that is no number", session=frontmatter(iteration="x"), words=("n 2 ",), stderr="iteration"),
    Case(
        "an active that is neither",
        session=frontmatter(active="maybe"),
        reason="session_inactive",
        then=SAME,
        stderr="active",
    ),
    Case("moments that are none", session=frontmatter(last_iteration_at="soon"), stderr="last_iteration_at"),
    Case("a clock that was ahead", session={"last_iteration_at": "2999-01-01T00:00:00Z"}),
    Case("a session's file with line ends of another system", session=frontmatter().replace(b"\n", b"\r\n")),
    Case("a session's file with a byte order mark", session=b"\xef\xbb\xbf" + frontmatter()),
]
RUNS = [
    Case("a run that was just created", run="", kinds="", words=("run:iterate",)),
    Case("a run that waits for an agent", kinds="agent", words=("agent", "run:iterate", "task:list", "task:post")),
    Case(
        "a run that waits for several kinds",
        run="ask:a/shell ask:b/agent ask:c/shell ask:d/zebra",
        kinds="agent, shell, zebra",
        words=("agent, shell, zebra",),
    ),
    Case("a run that waits for its moment", run="ask:a/sleep", kinds="sleep", words=("sleep 60",)),
    Case(
        "a run that waits for a person",
        run="ask:a/breakpoint",
        reason="breakpoint_waiting",
        kinds="breakpoint",
        then=SAME,
    ),
    Case(
        "a run that waits for a person twice",
        run="ask:a/breakpoint ask:b/breakpoint",
        reason="breakpoint_waiting",
        kinds="breakpoint",
        then=SAME,
    ),
    Case(
        "a run that waits for a person who is not there",
        run="ask:a/breakpoint",
        is_interactive=False,
        kinds="breakpoint",
        words=("No user is available",),
    ),
    Case(
        "a run that waits for a person and an agent",
        run="ask:a/breakpoint ask:b/agent",
        kinds="agent, breakpoint",
        words=("Only the user may answer",),
    ),
    Case("a run that failed", run="ask:a ok:a failed", words=("failed", "run:events", "run:iterate")),
    Case("a run that failed with a breakpoint open", run="ask:a/breakpoint failed", kinds="breakpoint"),
    Case("a run that failed and is alive again", run="ask:a ok:a failed ask:b/shell", kinds="shell"),
    Case("a run that was halted", run="ask:a halted", reason="session_inactive", then=OVER),
    Case(
        "a run that is not there",
        run=None,
        reason=None,
        then=SAME,
        stderr="the run r of this session is not in",
    ),
    Case(
        "a run that is not there, of a session at its limit",
        run=None,
        session={"max_iterations": 3},
        reason=None,
        then=OVER,
        stderr="is not in",
    ),
    Case(
        "a run without its first document",
        prepare=lambda project: (project.runs / "r" / layout.RUN_FILE).unlink(),
        reason=None,
        then=SAME,
        stderr="is not in",
    ),
    Case(
        "a run whose first document is garbage",
        prepare=lambda project: (project.runs / "r" / layout.RUN_FILE).write_bytes(b"\0"),
        reason=None,
        then=SAME,
        stderr="run.json",
    ),
    Case(
        "a run without a journal",
        prepare=lambda project: shutil.rmtree(journal(project)),
        reason=None,
        then=SAME,
        stderr="journal",
    ),
    Case("an entry that was changed", prepare=spoil(lambda text: text + b" "), reason=None, then=SAME, stderr="torn"),
    Case("an entry that is empty", prepare=spoil(lambda text: b""), reason=None, then=SAME, stderr="empty"),
    Case(
        "an entry whose text was changed",
        prepare=spoil(lambda text: text.replace(b"agent", b"shell")),
        reason=None,
        then=SAME,
        stderr="checksum",
    ),
    Case("an entry that is missing", prepare=gap, reason=None, then=SAME, stderr="out of sequence"),
    Case(
        "what another implementation left on its way",
        prepare=lambda project: (journal(project) / "000009.X.json.tmp-1-2").write_bytes(b""),
    ),
    Case("another implementation's lock, left by a dead process", prepare=foreign_lock('{"pid": 4194304}')),
    Case("another implementation's lock, left empty", prepare=foreign_lock("")),
    Case("a run that another implementation wrote, without a pack", prepare=without_pack),
    Case("a run in the folder that the environment names", environment={"BABYSITTER_RUNS_DIR": "HERE/.a5c/runs"}),
    Case(
        "a folder of runs that the environment names, and another run in it",
        environment={"BABYSITTER_RUNS_DIR": "HERE/elsewhere"},
        reason=None,
        then=SAME,
        stderr="HERE/elsewhere",
    ),
]
# How an agent can show its proof.
SHOWN: dict[str, dict[str, Any]] = {
    "in the transcript": {"says": ("before", PROMISE)},
    "with white space around it": {"says": (f"<promise>\n  {PROOF}\t\n</promise>",)},
    "as a text and no blocks": {"says": ({"type": "assistant", "message": {"content": PROMISE}},)},
    "in a line of another form": {"says": ({"role": "assistant", "content": [{"type": "text", "text": PROMISE}]},)},
    "in the second of two blocks": {
        "says": (
            {
                "message": {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "<promise>x</promise>"},
                        {"type": "text", "text": "So:"},
                        {"type": "text", "text": PROMISE},
                    ],
                }
            },
        )
    },
    "in the transcript, and other words in the payload": {
        "says": (FEEDBACK, PROMISE),
        "payload": {"last_assistant_message": "It is done."},
    },
    "before the results of tools": {
        "says": (
            PROMISE,
            {"type": "user", "message": {"content": "ok"}},
            {"type": "assistant", "message": {"content": []}},
        )
    },
    "in the payload alone": {"says": (), "payload": {"last_assistant_message": PROMISE}},
    "in the payload, where the transcript has no match": {
        "says": ("<promise>of another run</promise>",),
        "payload": {"last_assistant_message": PROMISE},
    },
    "in the payload, where the transcript is nowhere": {
        "payload": {"last_assistant_message": PROMISE, "transcript_path": "/nowhere"}
    },
    "in the payload, where the transcript is a folder": {
        "payload": {"last_assistant_message": PROMISE, "transcript_path": "/tmp"}
    },
    "in the payload, where the transcript is endless": {
        "payload": {"last_assistant_message": PROMISE, "transcript_path": "/dev/zero"}
    },
    "in the payload, where the transcript is a pipe": {
        "prepare": fifo("pipe"),
        "payload": {"last_assistant_message": PROMISE, "transcript_path": "HERE/pipe"},
    },
    "in the payload, where the transcript is no text": {
        "payload": {"last_assistant_message": PROMISE, "transcript_path": ["x"]}
    },
    "in a transcript by a path from the session's folder": {
        "says": (PROMISE,),
        "payload": {"transcript_path": "transcript.jsonl"},
    },
}
PROOFS = [
    Case(
        "a completed run without a promise",
        run=COMPLETED,
        kinds="",
        words=("run:status", "completionProof", "<promise>"),
    ),
    Case("done, said early", run=AGENT, says=("DONE. <promise>DONE</promise>",), has_promise=True),
    Case("the proof, said early", run=AGENT, says=(PROMISE,), has_promise=True),
    Case("a wrong proof", run=COMPLETED, says=("<promise>" + "f" * 32 + "</promise>",), has_promise=True),
    Case("a part of the proof", run=COMPLETED, says=(f"<promise>{PROOF[:-1]}</promise>",), has_promise=True),
    Case("an empty promise", run=COMPLETED, says=("<promise></promise>",), has_promise=True),
    Case("the proof without its tag", run=COMPLETED, says=(PROOF,)),
    Case("a tag that is never closed", run=COMPLETED, says=(f"<promise>{PROOF}",)),
    Case(
        "a second promise in the same words",
        run=COMPLETED,
        says=(f"<promise>x</promise> <promise>{PROOF}</promise>",),
        has_promise=True,
    ),
    *(
        Case(
            f"the proof, {name}", run=COMPLETED, reason="completion_proof_matched", then=OVER, has_promise=True, **given
        )
        for name, given in SHOWN.items()
    ),
    Case("the proof in earlier words", run=COMPLETED, says=(PROMISE, "something else")),
    Case(
        "a promise of an earlier turn, the transcript being late",
        says=("<promise>DONE</promise>", FEEDBACK),
        payload={"last_assistant_message": "I go on."},
    ),
    Case(
        "the proof in an earlier turn, the transcript being late",
        run=COMPLETED,
        says=(PROMISE, FEEDBACK),
        payload={"last_assistant_message": "I go on."},
    ),
    Case(
        "a promise in the transcript, and other words in the payload",
        says=(FEEDBACK, "<promise>DONE</promise>"),
        payload={"last_assistant_message": "I go on."},
        has_promise=True,
    ),
    Case(
        "the proof in a person's words",
        run=COMPLETED,
        says=({"type": "user", "message": {"role": "user", "content": PROMISE}},),
    ),
    Case("the proof in a sub-agent's words", run=COMPLETED, says=("working", said(PROMISE, isSidechain=True))),
    Case(
        "the proof of a run that has none of its own",
        run=COMPLETED,
        prepare=metadata(lambda document: document.pop("completionProof")),
        says=(f"<promise>{sha256(f'r:{layout.PROOF_SALT}'.encode())}</promise>",),
        reason="completion_proof_matched",
        then=OVER,
        has_promise=True,
    ),
    Case(
        "the proof of a completed run that is alive again",
        run=f"{COMPLETED} ask:b/agent",
        says=(PROMISE,),
        has_promise=True,
    ),
    Case(
        "the proof in its last iteration",
        run=COMPLETED,
        says=(PROMISE,),
        session={"max_iterations": 3},
        reason="max_iterations_reached",
        then=OVER,
    ),
]
PROGRESS = [
    Case("the stop before the last in a row", run=AGENT + " stop" * 48),
    Case("the fiftieth stop in a row", run=AGENT + " stop" * 49, reason="no_progress", then=OVER),
    Case("fifty stops with something between them", run=AGENT + " stop" * 25 + " ask:b/shell" + " stop" * 25),
    Case(
        "a smaller limit",
        run=AGENT + " stop" * 2,
        environment={"BRIDLE_NO_PROGRESS_STOPS": "3"},
        reason="no_progress",
        then=OVER,
    ),
    Case("no limit", run=AGENT + " stop" * 60, environment={"BRIDLE_NO_PROGRESS_STOPS": "0"}),
    Case("a limit that is none", run=AGENT + " stop" * 2, environment={"BRIDLE_NO_PROGRESS_STOPS": "-1"}),
    Case(
        "the proof after fifty stops",
        run=COMPLETED + " stop" * 60,
        says=(PROMISE,),
        reason="completion_proof_matched",
        then=OVER,
        has_promise=True,
    ),
    Case(
        "a person who is waited for, fifty stops long",
        run="ask:a/breakpoint" + " stop" * 60,
        reason="breakpoint_waiting",
        then=SAME,
    ),
]
WORDS = [
    Case("skills and agents, ten of them", prepare=many_skills, words=("skill:skill-7, agent:a, agent:b\n\n",)),
    Case("no skill and no agent", words=("--json`.\n\n" + PROMPT,)),
]
CASES = [*PAYLOADS, *SESSIONS, *RUNS, *PROOFS, *PROGRESS, *WORDS]


def test_the_table_is_as_long_as_it_should_be() -> None:
    assert len(CASES) >= 46
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_stop_ends_as_the_table_says(case: Case, tmp_path: Path) -> None:
    project = Project(tmp_path)
    path = prepared(case, project)
    run = project.runs / "r"
    before = contents(tmp_path)
    payload = (
        here(case.payload, tmp_path)
        if isinstance(case.payload, bytes)
        else project.payload(**here(case.payload, tmp_path))
    )

    done = project.hook(payload, environment=here(case.environment, tmp_path))

    assert done.code == 0
    assert here(case.stderr, tmp_path) in done.stderr
    assert bool(done.stderr) == bool(case.stderr), "a person is told of trouble, and of nothing else"
    assert ("decision" in done.document) == (case.reason == "continue_loop")
    after = contents(tmp_path)
    check_session(case, path, before, after)
    check_journal(case, run, before, after)
    check_words(case, done.document, run)
    if case.stderr:
        assert here(case.stderr, tmp_path) in project.log.read_text(encoding="utf-8")


def prepared(case: Case, project: Project) -> Path:
    if case.run is not None:
        project.run(case.run, is_interactive=case.is_interactive)
    path = session_file.path_of(project.state, "s")
    if isinstance(case.session, bytes):
        project.state.mkdir(parents=True)
        path.write_bytes(case.session)
    elif case.session is not None:
        project.session(**case.session)
    if case.says:
        project.say(*case.says)
    if case.prepare is not None:
        case.prepare(project)
    return path


def here(value: Any, folder: Path) -> Any:
    """The same with the project's folder in place of HERE."""
    if isinstance(value, dict):
        return {key: here(item, folder) for key, item in value.items()}
    return value.replace("HERE", str(folder)) if isinstance(value, str) else value


def check_session(case: Case, path: Path, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    name = f".a5c/state/{path.name}"
    assert [key for key in after if key.startswith(".a5c/state/")] == [
        key for key in before if key.startswith(".a5c/state/")
    ]
    if case.then == SAME:
        assert after.get(name) == before.get(name)
        return
    now, then = session_of(path), session_file.parse(path, before[name]).session
    assert (now.active, now.iteration) == (case.then == HELD, then.iteration + (case.then == HELD))
    assert (now.run_id, now.max_iterations, now.started_at) == (then.run_id, then.max_iterations, then.started_at)
    assert session_file.parse(path, after[name]).body == session_file.parse(path, before[name]).body
    assert (now.last_iteration_at != then.last_iteration_at) == (case.then == HELD)
    assert all(seconds > 0 for seconds in now.iteration_times)


def check_journal(case: Case, run: Path, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    new = [name for name in after if name.startswith(".a5c/runs/") and name not in before and "/state/" not in name]
    if case.reason is None:
        assert new == []
        assert [name for name in before if name.startswith(".a5c/runs/") and before[name] != after.get(name)] == []
        return
    assert [name.rpartition("/")[0] for name in new] == [".a5c/runs/r/journal"]
    entry = stops(run)[-1]
    assert entries(run)[-1].data == entry
    assert entry["sessionId"] == "s"
    assert entry["reason"] == case.reason
    assert entry["decision"] == ("block" if case.reason == "continue_loop" else "approve")
    assert entry["iteration"] == session_file.parse(run, before[".a5c/state/s.md"]).session.iteration
    assert entry["hasPromise"] is case.has_promise
    is_looked_at = case.reason not in ("max_iterations_reached", "session_inactive") or case.then == OVER
    if case.kinds is not None:
        assert entry["pendingKinds"] == case.kinds
    if not is_looked_at or case.reason == "max_iterations_reached":
        assert (entry["runState"], entry["pendingKinds"]) == ("", "")


def check_words(case: Case, document: dict[str, Any], run: Path) -> None:
    if case.reason != "continue_loop":
        assert document == {}
        return
    assert list(document) == ["decision", "reason", "systemMessage"]
    assert str(run) in document["reason"]
    assert document["reason"].endswith(f"\n\n{PROMPT}")
    assert [words for words in case.words if words not in document["reason"]] == []
    iteration, state = stops(run)[-1]["iteration"] + 1, stops(run)[-1]["runState"]
    assert document["reason"].startswith(f"Bridle iteration {iteration} | ")
    assert document["systemMessage"].startswith(f"Bridle iteration {iteration}/")
    assert document["systemMessage"].endswith(f" [{state}]")


def test_a_session_without_a_limit_says_so(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.run(AGENT)
    project.session(max_iterations=0)
    assert project.stop().document["systemMessage"] == "Bridle iteration 4/unlimited [waiting]"


def test_the_harness_of_the_run_stands_in_front_of_the_entry(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(AGENT, harness="claude-code")
    project.session()
    project.stop()
    assert next(iter(stops(run)[-1].items())) == ("harness", "claude-code")


def test_a_body_that_is_no_text_is_kept_and_can_be_said(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.run(AGENT)
    path = project.session()
    path.write_bytes(frontmatter() + b"\xff\xfe---\n\n\x00")
    done = project.stop()
    assert done.document["reason"].endswith("Build the thing\n��---\n\n\x00")
    assert path.read_bytes().endswith(b"Build the thing\n\xff\xfe---\n\n\x00")


def test_words_beyond_all_measure_are_cut(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.run(AGENT)
    project.session().write_bytes(frontmatter() + b"x" * (PROMPT_LIMIT_CHARACTERS + 1))
    reason = project.stop().document["reason"]
    assert reason.endswith("x […]")
    assert len(reason) < PROMPT_LIMIT_CHARACTERS + 1000


def test_after_a_session_was_let_go_the_stops_are_counted_anew(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(AGENT)
    path = project.session()
    limit = {"BRIDLE_NO_PROGRESS_STOPS": "3"}
    seen = []
    for _ in range(3):
        for _ in range(3):
            project.stop(environment=limit)
        seen += [entry["reason"] for entry in stops(run)[-3:]]
        file = session_file.read(path)
        assert file is not None
        session_file.write(file.with_session(file.session.changed(active=True)))
    assert seen == ["continue_loop", "continue_loop", "no_progress"] * 3


def test_an_agent_that_makes_progress_is_never_let_go(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run()
    path = project.session()
    for number in range(6):
        extend(run, f"ask:e{number}/agent" if number % 2 == 0 else f"ok:e{number - 1}")
        assert "decision" in project.stop(environment={"BRIDLE_NO_PROGRESS_STOPS": "2"}).document
    assert session_of(path).iteration == 9


def test_where_nothing_can_be_written_the_session_may_end(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(AGENT)
    path = project.session()
    before = path.read_bytes()
    done = project.stop(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    assert (done.code, done.document) == (0, {})
    assert "ulimit -f" in done.stderr
    assert path.read_bytes() == before
    assert stops(run) == []


def test_an_entry_that_lies_ahead_of_the_clock_is_followed(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(AGENT)
    last = last_entry(project)
    last.rename(last.with_name("000002.70000000000000000000000000.json"))
    without_pack(project)
    project.session()
    assert "decision" in project.stop().document
    assert entries(run)[-1].ulid > "70000000000000000000000000"


def test_the_command_to_call_is_one_that_the_shell_takes(tmp_path: Path) -> None:
    project = Project(tmp_path / "it's a $HOME `folder`")
    run = project.run(AGENT)
    project.session()
    reason = project.stop().document["reason"]
    command = reason.split("Then call `")[1].split("--json`")[0]
    assert command.endswith(f"run:iterate '{str(run).replace(chr(39), chr(39) + chr(92) + chr(39) * 2)}' ")


@pytest.mark.parametrize("is_on_path", [True, False])
def test_the_program_is_named_as_the_shell_finds_it(tmp_path: Path, is_on_path: bool) -> None:
    project = Project(tmp_path)
    project.run("")
    project.session()
    program = tmp_path / "bin" / "bridle"
    program.parent.mkdir()
    if is_on_path:
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
    reason = project.stop(environment={"PATH": f"{os.defpath}:{program.parent}"}).document["reason"]
    called = reason.split("when you call `")[1].split(" run:iterate")[0]
    assert called == "bridle" if is_on_path else os.path.isabs(called) and os.access(called, os.X_OK)


def test_where_the_journal_takes_no_entry_the_session_stays_as_it_was(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(AGENT)
    last = last_entry(project)
    last.rename(last.with_name("000002.7ZZZZZZZZZZZZZZZZZZZZZZZZZ.json"))
    without_pack(project)
    path = project.session()
    before = path.read_bytes()
    done = project.stop()
    assert done.document == {}
    assert "no id can follow" in done.stderr
    assert path.read_bytes() == before
    assert stops(run) == []


def test_a_session_that_was_bound_without_knowing_the_plugin_is_held(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(AGENT)
    bound = project.session()
    plugin = tmp_path / "plugin"
    project.hook(project.payload(), "--plugin-root", str(plugin), hook_type="session-start")
    baseline = plugin / session_file.PLUGIN_STATE / "s.md"
    before = baseline.read_bytes()
    assert project.stop("--plugin-root", str(plugin)).document["decision"] == "block"
    assert (session_of(bound).iteration, baseline.read_bytes(), len(stops(run))) == (4, before, 1)


def test_stops_in_the_row_of_another_session_do_not_hide_the_proof(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(COMPLETED)
    project.session()
    project.session("other")
    for _ in range(3):
        project.hook(project.payload("other"))
    assert project.hook(project.payload(last_assistant_message=PROMISE)).document == {}
    assert [entry["sessionId"] for entry in stops(run)] == ["other", "other", "other", "s"]
    assert session_of(project.state / "other.md").active


def test_a_run_that_cannot_be_read_does_not_even_get_a_lock_file(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(AGENT)
    spoil(lambda text: b"")(project)
    (run / layout.LOCK_FILE).unlink()
    path = project.session()
    before = sorted(file.name for file in (*run.iterdir(), *path.parent.iterdir()))
    assert project.stop().document == {}
    assert sorted(file.name for file in (*run.iterdir(), *path.parent.iterdir())) == before
