"""The plugin in real Claude Code sessions: held until the run is complete, and nobody else is."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from bridle.hosts.install.render_plugin import BLOCK_CAP, GONE
from tests.real.fixtures.claude_on_stage import LIMIT_SECONDS, Scene, calls, says, scene, wait_for
from tests.real.fixtures.installed_programs import claude_program
from tests.real.fixtures.plugin_session import (
    EFFECT,
    FIRST,
    NOTES,
    ONE_CHECK,
    PLUGIN,
    SEEN,
    SESSION,
    STATE_PLUGIN,
    STATE_SESSION,
    Ended,
    Plugged,
    begins,
    gives_proof,
    iterates,
    plugged,
    posts,
    shell,
    shows_status,
    worked_to_the_breakpoint,
)
from tests.real.fixtures.terminal_session import ENTER, terminal

pytestmark = pytest.mark.real

OTHER = "I am another session."
QUIET = {"when": {"contains": OTHER, "in": "messages"}, "answers": [{**says("Good day."), "times": "forever"}]}

# Shown once, and then again and again while the question is open.
ASKS_AGAIN = "bridle task:list ${run} --pending --kind breakpoint --json"
STILL_OPEN = {"tool_result_of": "Bash", "matches": r'"tasks": ?\[\s*\{'}


REPORT = "The notes are written."
ORDER = "Do just this: write the notes."
SUB_AGENT = {
    "when": {"contains": ORDER, "in": "messages"},
    "answers": [calls("Write", file_path="notes.txt", content=NOTES), says(REPORT)],
}


def worked_to_the_end() -> list[dict[str, Any]]:
    return [
        iterates(),
        posts(SEEN, FIRST),
        posts(SEEN, EFFECT),
        says("Both have theirs."),
        iterates(),
        says("The process has returned."),
        shows_status(),
        gives_proof(),
    ]


def labels(entries: list[dict[str, Any]]) -> list[str]:
    return [one["data"]["label"] for one in entries if one["type"] == "EFFECT_REQUESTED"]


def test_a_session_is_held_until_its_run_is_complete_and_two_others_are_free(tmp_path: Path) -> None:
    polls, worked = shell(ASKS_AGAIN), worked_to_the_breakpoint()
    by_itself = next(n for n, one in enumerate(worked) if one["blocks"][0].get("input", {}).get("content") == NOTES)
    delegates = calls("Agent", description="write", prompt=ORDER, subagent_type="general-purpose")
    reports = shell(
        """bridle task:post ${run} ${effect} --status ok --value-inline '"${report}"' --json""",
        report={"from": "last_user", "pattern": r"(The notes are \w+\.)"},
        effect=EFFECT,
    )
    answers = [
        *worked[:by_itself],
        delegates,
        reports,
        *worked[by_itself + 2 :],
        polls,
        {**polls, "when": STILL_OPEN, "times": "forever"},
        says("Somebody has answered."),
        *worked_to_the_end(),
    ]
    with plugged(tmp_path, *answers, conversations=[QUIET, SUB_AGENT]) as there:
        hook = there.scene.home / ".config/babysitter/hooks/on-score/tell.sh"
        hook.parent.mkdir(parents=True)
        hook.write_text(f"cat > '{tmp_path}/score'\n")
        held, others, answered = _at_the_same_time(there)
        assert there.scene.stage.problems == ()
        stops, entries, audit = there.stops(), there.entries(), there.scene.bridle("audit", there.run().name, "--json")
    assert (held.exit_code, held.result["subtype"], held.result["permission_denials"]) == (0, "success", [])
    assert stops[:-1] == [("block", "continue_loop")] * 6
    assert stops[-1] == ("approve", "completion_proof_matched")
    assert [f"Bridle iteration {n} |" in text for n, text in enumerate(held.told(), 2)] == [True] * 6
    assert labels(entries) == ["write", "check", "judge", "ship", "again 1", "again 2"]
    output = json.loads((there.run() / "state/output.json").read_text())
    assert output == {"approved": True, "words": answered, "score": 85, "again": [SEEN, SEEN], "said": REPORT}
    assert (audit.exit_code, audit.document["wrong"]) == (0, [])
    assert json.loads((tmp_path / "score").read_text())["value"]["summary"] == "good notes"
    _check_session_file(there, held.session_id)
    for other in others:
        assert (other.exit_code, other.result["result"]) == (0, "Good day.")
        assert [one["stdout"].strip() for one in other.hook_outputs("Stop")] == ["{}"]
        assert there.session_file(other.session_id).session.run_id == ""
    assert {one["data"]["sessionId"] for one in entries if one["type"] == "STOP_HOOK_INVOKED"} == {held.session_id}


def _at_the_same_time(there: Plugged) -> tuple[Ended, list[Ended], str]:
    """The session that is held; while it waits for an answer two others come and go, and then the answer."""
    ended: list[Ended] = []
    main = threading.Thread(target=lambda: ended.append(there.session("/bridle:start write notes.txt")))
    main.start()
    try:
        wait_for(lambda: not main.is_alive() or _open_questions(there), "question")
        others = [there.session(OTHER), there.session(OTHER)]
        words = 'Yes, but mind the gap.\nSecond line: "quoted"'
        (question,) = _open_questions(there)
        done = there.scene.bridle("answer", question, words, there.run().name, "--approve", "--json")
        assert done.exit_code == 0, done.stderr
    finally:
        main.join()
    return ended[0], others, words


def _open_questions(there: Plugged) -> list[str]:
    if not (there.scene.workspace / ".a5c/runs").is_dir():
        return []
    done = there.scene.bridle("answer", "--list", "--json")
    return [one["effectId"] for one in done.document["questions"]] if done.exit_code == 0 else []


def _check_session_file(there: Plugged, session_id: str) -> None:
    file = there.session_file(session_id)
    assert (file.session.run_id, file.session.active, file.session.iteration) == (there.run().name, False, 7)
    assert file.prompt.strip() == "Write notes."
    assert not list(there.plugin.glob("skills/babysit/state/*.tmp"))


QUESTION = {
    "questions": [
        {
            "question": "Ship it?",
            "header": "Ship",
            "multiSelect": False,
            "options": [
                {"label": "Approve", "description": "The notes go out."},
                {"label": "Reject", "description": "They do not."},
            ],
        }
    ]
}


ONE_QUESTION = """
async def process(inputs, ctx):
    return await ctx.breakpoint({"question": "Ship it?"}, label="ship")
"""

DECIDED = [
    shell(
        "bridle task:post ${run} ${effect} --status ok --json --value-inline"
        """ '{"approved": true, "response": "${words}", "respondedBy": "human"}'""",
        words={"from": "last_user", "pattern": r'"Ship it\?"="([^"]+)"'},
        effect=EFFECT,
    ),
    says("The person has decided."),
    iterates(),
    shows_status(),
    gives_proof(),
]


def test_a_question_that_was_dismissed_is_asked_again_and_the_words_of_the_user_reach_the_run(tmp_path: Path) -> None:
    words = "Approve, but mind the gap"
    asks = calls("AskUserQuestion", **QUESTION)
    with plugged(tmp_path, *begins(ONE_QUESTION), iterates(), asks, asks, *DECIDED) as there:
        replies = [lambda _asked: None, lambda asked: {**asked, "answers": {"Ship it?": words}}]
        ended = there.conversation("/bridle:start ask me", replies)
        assert there.scene.stage.problems == ()
        stops = there.stops()
    assert (ended.exit_code, ended.result["subtype"]) == (0, "success")
    assert [denied["tool_name"] for denied in ended.result["permission_denials"]] == ["AskUserQuestion"]
    assert stops == [("block", "continue_loop"), ("approve", "completion_proof_matched")]
    output = json.loads((there.run() / "state/output.json").read_text())
    assert output == {"approved": True, "response": words, "respondedBy": "human"}


def test_a_session_that_waits_for_a_user_may_rest_and_is_taken_up_again(tmp_path: Path) -> None:
    answers = [
        *worked_to_the_breakpoint(),
        says("Somebody must answer: bridle answer."),
        shell(
            "bridle session:state --session-id ${session} --plugin-root ${plugin} --json",
            session=STATE_SESSION,
            plugin=STATE_PLUGIN,
        ),
        *worked_to_the_end(),
    ]
    with plugged(tmp_path, *answers) as there:
        first = there.session("/bridle:start write notes.txt")
        assert there.stops()[-1] == ("approve", "breakpoint_waiting")
        assert there.session_file(first.session_id).session.active is True
        (question,) = _open_questions(there)
        done = there.scene.bridle("answer", question, "no", there.run().name, "--json")
        assert done.exit_code == 0, done.stderr
        second = there.session("/bridle:resume", "--resume", first.session_id)
        assert there.scene.stage.problems == ()
        stops = there.stops()
    assert (second.exit_code, second.session_id) == (0, first.session_id)
    assert stops[-1] == ("approve", "completion_proof_matched")
    output = json.loads((there.run() / "state/output.json").read_text())
    assert (output["approved"], output["words"]) == (False, "no")


def test_a_session_takes_up_a_run_of_another_session(tmp_path: Path) -> None:
    answers = [
        *begins(ONE_CHECK),
        iterates(),
        {**says("I am out of time."), "times": 2},
        calls("Skill", skill="bridle:babysit", args="go on"),
        shell(
            "bridle session:resume --session-id ${session} --plugin-root ${plugin} --run-id ${run} --json",
            session=SESSION,
            plugin=PLUGIN,
            run={"from": "messages", "pattern": r"The run: ([0-9A-Z]{26})"},
        ),
        iterates(),
        posts(SEEN),
        says("It has its result."),
        iterates(),
        shows_status(),
        gives_proof(),
    ]
    with plugged(tmp_path, *answers) as there:
        first = there.session("/bridle:start check it", CLAUDE_CODE_STOP_HOOK_BLOCK_CAP="1")
        assert first.result["result"] == "", "its host has ended it although its hook held it"
        second = there.session(f"/bridle:resume {there.run().name}")
        assert there.scene.stage.problems == ()
        stops, entries = there.stops(), there.entries()
    assert second.exit_code == 0
    assert second.session_id != first.session_id
    assert stops[-1] == ("approve", "completion_proof_matched")
    sessions = [one["data"]["sessionId"] for one in entries if one["type"] == "STOP_HOOK_INVOKED"]
    assert sessions == [first.session_id] * (len(sessions) - 2) + [second.session_id] * 2
    assert there.session_file(second.session_id).prompt.endswith("Write notes.")


def test_a_session_whose_bridle_is_gone_ends_and_says_so(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    answers = [*begins(ONE_CHECK), iterates(), calls("Bash", command=f"rm {python}"), says("I stop.")]
    with plugged(tmp_path, *answers, python=str(python)) as there:
        ended = there.session("/bridle:start check it", "--allowedTools", "Bash(rm *)", "--add-dir", str(tmp_path))
        assert there.scene.stage.problems == ()
        assert there.stops() == []
    assert (ended.exit_code, ended.result["result"]) == (0, "I stop.")
    (said,) = ended.hook_outputs("Stop")
    assert (said["exit_code"], json.loads(said["stdout"])) == (0, {"systemMessage": GONE})
    assert f"It looked for {python}" in said["stderr"]


def test_claude_code_gives_up_on_a_session_that_does_nothing_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    idle = {**says("I will do nothing."), "times": BLOCK_CAP + 1}
    more = [iterates(), posts(SEEN), says("."), iterates(), shows_status(), gives_proof()]
    with plugged(tmp_path, *begins(ONE_CHECK), idle, *more) as there:
        first = there.session("/bridle:start check it")
        assert (first.exit_code, first.result["result"]) == (0, "")
        assert there.stops() == [("block", "continue_loop")] * (BLOCK_CAP + 1)
        second = there.session("/bridle:resume", "--resume", first.session_id)
        assert there.scene.stage.problems == ()
        stops = there.stops()
    assert second.exit_code == 0
    assert stops[-1] == ("approve", "completion_proof_matched")


@pytest.mark.parametrize("way", ["user", "project", "marketplace"])
def test_an_installed_plugin_is_loaded_and_its_hooks_run(tmp_path: Path, way: str) -> None:
    with scene(tmp_path, says("Good day.")) as set_up:
        if way == "marketplace":
            folder = tmp_path / "a plug'in"
            steps = set_up.bridle("plugin", "install", "--dir", str(folder), "--json").document["enable"]
            (add,) = [step["command"] for step in steps if "marketplace" in step.get("command", "")]
            assert run_line(set_up, add) == 0
        else:
            folder = Path(set_up.bridle("plugin", "install", "--scope", way, "--json").document["folder"])
        if way == "project":
            trusted = {"projects": {str(set_up.workspace): {"hasTrustDialogAccepted": True}}}
            (set_up.home / ".claude").mkdir()
            (set_up.home / ".claude/.claude.json").write_text(json.dumps(trusted))
        ended = Plugged(set_up, folder).session("Good day.", has_plugin=False)
        assert set_up.stage.problems == ()
    assert ended.exit_code == 0
    (init,) = [one for one in ended.events if one.get("subtype") == "init"]
    assert [(one["name"], Path(one["path"])) for one in init["plugins"]] == [("bridle", folder)]
    names = {"start", "resume", "status", "doctor", "babysit", "score"}
    assert {f"bridle:{name}" for name in names} <= set(init["slash_commands"])
    assert [one["stdout"].strip() for one in ended.hook_outputs("Stop")] == ["{}"]
    assert Plugged(set_up, folder).session_file(ended.session_id).session.run_id == ""


def test_claude_code_finds_nothing_wrong_with_the_plugin(tmp_path: Path) -> None:
    with plugged(tmp_path, says("Nobody asks.")) as there:
        for path in (there.plugin, there.plugin / ".claude-plugin/plugin.json"):
            assert run_line(there.scene, f"claude plugin validate --strict {shlex.quote(str(path))}") == 0


def run_line(set_up: Scene, line: str) -> int:
    """Run a line of the documentation, with the real Claude Code as `claude`."""
    path = f"{claude_program().parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=set_up.workspace,
        env=set_up.environment(PATH=path),
        stdin=subprocess.DEVNULL,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    return done.returncode


def test_a_user_at_the_terminal_decides_at_the_keyboard(tmp_path: Path) -> None:
    asks = calls("AskUserQuestion", **QUESTION)
    with plugged(tmp_path, *begins(ONE_QUESTION), iterates(), asks, *DECIDED) as there:
        argv = [str(claude_program()), "--plugin-dir", str(there.plugin), "--permission-mode", "acceptEdits"]
        with terminal(there.scene, argv) as person:
            person.waits_for("for agents")
            person.says("/bridle:start ask me")
            person.waits_for("Ship it?")
            person.waits_for("They do not.")
            person.types(ENTER)
            person.waits_for("It is done.")
            person.waits_until(lambda: there.stops()[-1][1] == "completion_proof_matched", "end of the run")
        assert there.scene.stage.problems == ()
    assert json.loads((there.run() / "state/output.json").read_text())["response"] == "Approve"


def test_a_user_at_the_terminal_is_informed_that_bridle_is_gone(tmp_path: Path) -> None:
    with (
        plugged(tmp_path, says("I stop."), python="/nowhere/python") as there,
        terminal(there.scene, [str(claude_program()), "--plugin-dir", str(there.plugin)]) as person,
    ):
        person.waits_for(f"SessionStart:startup says: {GONE}")
        person.says("Good day.")
        person.waits_for(f"Stop says: {GONE}")
