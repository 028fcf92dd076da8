"""Editors: the official client of the Agent Client Protocol on `bridle-agent acp`, and on the bridge that editors use.

Each case runs three times: on our own server, on the bridge with bridle-agent, and on the bridge with Claude Code; the
last of these proves the case.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.agent.fixtures.acp_editor import OpenEditor, editor_on_stage, pick
from tests.fixtures.bridle_program import BRIDLE_AGENT
from tests.real.fixtures.installed_programs import acp_bridge_program, claude_program

pytestmark = pytest.mark.real

_POLL_SECONDS = 0.05

Opens = Callable[..., AbstractAsyncContextManager[OpenEditor]]


@pytest.fixture(params=["bridle-agent acp", "the bridge on bridle-agent", "the bridge on Claude Code"])
def editor(request: pytest.FixtureRequest, tmp_path: Path) -> Opens:
    """Return what opens a session of an editor, with a model that gives these answers."""
    command = [str(BRIDLE_AGENT), "acp"] if request.param == "bridle-agent acp" else [str(acp_bridge_program())]
    agent = claude_program() if request.param.endswith("Claude Code") else BRIDLE_AGENT

    @asynccontextmanager
    async def opens(*answers: dict[str, Any]) -> AsyncIterator[OpenEditor]:
        async with editor_on_stage(tmp_path, script(*answers), *command, CLAUDE_CODE_EXECUTABLE=str(agent)) as opened:
            await opened.open()
            yield opened

    return opens


def script(*answers: dict[str, Any]) -> dict[str, Any]:
    """Return a script whose answers are for the conversation: the real one makes requests of its own beside it."""
    conversation = {"when": {"has_tool": "Write"}, "answers": list(answers)}
    return {"answers": [], "conversations": [conversation], "otherwise": {"blocks": ["A title."]}}


def writes(path: Path, content: str = "hi\n") -> dict[str, Any]:
    arguments = {"file_path": str(path), "content": content}
    return {"blocks": ["Let me write.", {"type": "tool_use", "name": "Write", "input": arguments}]}


DONE = {"blocks": [{"type": "thinking", "thinking": "All is done.", "signature": "c2ln"}, "Done."]}


def ended(call: dict[str, Any]) -> bool:
    return call["sessionUpdate"] == "tool_call_update" and call.get("status") in ("completed", "failed")


def test_a_prompt_is_answered_in_pieces(editor: Opens) -> None:
    async def run() -> None:
        async with editor(DONE) as opened:
            response = await opened.prompt("please answer")
            assert response.stop_reason == "end_turn"
            assert opened.editor.text() == "Done."
            assert opened.editor.text("agent_thought_chunk") == "All is done."
            assert {update["sessionId"] for update in opened.editor.updates} == {opened.session_id}

    asyncio.run(run())


def test_a_call_that_is_allowed_runs_and_shows_its_change(editor: Opens, tmp_path: Path) -> None:
    path = tmp_path / "workspace" / "made.txt"

    async def run() -> None:
        async with editor(writes(path), DONE) as opened:
            response = await opened.prompt("please write")
            assert response.stop_reason == "end_turn"
            assert path.read_text() == "hi\n"
            asked = opened.editor.asked[0]
            assert asked["toolCall"]["kind"] == "edit"
            assert {option["kind"] for option in asked["options"]} >= {"allow_once", "allow_always", "reject_once"}
            call_id = asked["toolCall"]["toolCallId"]
            shown = [update for update in opened.editor.updates if update.get("toolCallId") == call_id]
            diffs = [part for update in shown for part in update.get("content", []) if part["type"] == "diff"]
            assert {(diff["path"], diff.get("oldText"), diff["newText"]) for diff in diffs} == {
                (str(path), None, "hi\n")
            }
            assert [update["status"] for update in shown if ended(update)] == ["completed"]
            assert opened.editor.text() == "Let me write.Done."

    asyncio.run(run())


def test_a_call_that_is_rejected_does_not_run(editor: Opens, tmp_path: Path) -> None:
    path = tmp_path / "workspace" / "made.txt"

    async def run() -> None:
        async with editor(writes(path), DONE) as opened:
            opened.editor.choose = pick("reject_once")
            response = await opened.prompt("please write")
            assert len(opened.editor.asked) == 1
            assert response.stop_reason in ("end_turn", "cancelled")
            assert not path.exists()
            failed = await opened.editor.until(ended)
            assert failed["status"] == "failed"

    asyncio.run(run())


def test_always_allows_the_next_call_too(editor: Opens, tmp_path: Path) -> None:
    one, two = tmp_path / "workspace" / "one.txt", tmp_path / "workspace" / "two.txt"

    async def run() -> None:
        async with editor(writes(one), writes(two), DONE) as opened:
            opened.editor.choose = pick("allow_always")
            await opened.prompt("please write both")
            assert len(opened.editor.asked) == 1
            assert one.exists()
            assert two.exists()

    asyncio.run(run())


def test_a_cancel_ends_the_turn_and_its_command_and_the_session_goes_on(editor: Opens, tmp_path: Path) -> None:
    pid_file = tmp_path / "workspace" / "pid"
    command = {"command": f"echo $$ > {pid_file} && sleep 1000", "description": "Waits"}
    sleeps = {"blocks": [{"type": "tool_use", "name": "Bash", "input": command}]}

    async def run() -> None:
        async with editor(sleeps, DONE) as opened:
            turn = asyncio.create_task(opened.prompt("please wait"))
            while not (pid_file.exists() and pid_file.read_text().strip()):
                await asyncio.sleep(_POLL_SECONDS)
            await opened.connection.cancel(session_id=opened.session_id)
            assert (await turn).stop_reason == "cancelled"
            while is_alive(int(pid_file.read_text())):
                await asyncio.sleep(_POLL_SECONDS)
            assert (await opened.prompt("please go on")).stop_reason == "end_turn"
            assert opened.editor.text().endswith("Done.")

    asyncio.run(run())


def test_a_cancel_while_the_model_speaks_ends_the_turn(editor: Opens) -> None:
    async def run() -> None:
        async with editor({"kind": "hang", "blocks": ["Once upon a time"], "after_events": 5}, DONE) as opened:
            turn = asyncio.create_task(opened.prompt("please tell"))
            await opened.editor.until(lambda update: update["sessionUpdate"] == "agent_message_chunk")
            await opened.connection.cancel(session_id=opened.session_id)
            assert (await turn).stop_reason == "cancelled"

    asyncio.run(run())


def test_a_mode_that_is_set_decides_about_the_next_call(editor: Opens, tmp_path: Path) -> None:
    path = tmp_path / "workspace" / "made.txt"

    async def run() -> None:
        async with editor(writes(path), DONE) as opened:
            assert opened.opened.modes.current_mode_id == "default"
            await opened.connection.set_session_mode(session_id=opened.session_id, mode_id="acceptEdits")
            await opened.prompt("please write")
            assert opened.editor.asked == []
            assert path.exists()

    asyncio.run(run())


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one that has ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text() if Path("/proc/self").exists() else ""
        os.kill(pid, 0)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return " Z " not in state
