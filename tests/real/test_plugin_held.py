"""The plugin holds a session until its run is complete, of the real Claude Code and of bridle-agent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real.fixtures.claude_on_stage import says
from tests.real.fixtures.installed_programs import claude_program
from tests.real.fixtures.plugin_session import (
    ONE_CHECK,
    SEEN,
    begins,
    gives_proof,
    iterates,
    plugged,
    posts,
    shows_status,
)
from tests.real.fixtures.sdk_session import bridle_agent

pytestmark = pytest.mark.real


@pytest.mark.parametrize("program", [claude_program, bridle_agent], ids=["real", "ours"])
def test_done_reported_early_a_stop_without_work_and_a_wrong_proof_are_all_held(
    program: Callable[[], Path], tmp_path: Path
) -> None:
    answers = [
        *begins(ONE_CHECK),
        says("I stop before I have begun."),
        says("DONE. Everything is finished. <promise>DONE</promise>"),
        iterates(),
        says("The work is complete, all checks pass."),
        posts(SEEN),
        says("<promise>COMPLETE</promise>"),
        iterates(),
        says("<promise>0123456789abcdef0123456789abcdef</promise>"),
        shows_status(),
        {**says("The proof is ${proof}."), "capture": gives_proof()["capture"]},
        gives_proof(),
    ]
    with plugged(tmp_path, *answers, program=program()) as there:
        ended = there.session("/bridle:start check it")
        assert there.scene.stage.problems == ()
        stops, entries = there.stops(), there.entries()
    assert (ended.exit_code, ended.result["subtype"]) == (0, "success")
    assert stops == [("block", "continue_loop")] * 6 + [("approve", "completion_proof_matched")]
    states = [one["data"]["runState"] for one in entries if one["type"] == "STOP_HOOK_INVOKED"]
    assert states == ["created", "created", "waiting", "created", "completed", "completed", "completed"]
    promised = [one["data"]["hasPromise"] for one in entries if one["type"] == "STOP_HOOK_INVOKED"]
    assert promised == [False, True, False, True, True, False, True], "by what was said last, not before"
    told = ended.told()
    assert all("bridle run:" in text for text in told), "each time a tool call is asked for"
    assert all("completionProof" in text for text in told[4:])
    assert there.session_file(ended.session_id).session.active is False
