"""`bridle-agent acp` with the official client: sessions that are loaded, prompts with images, errors, and the end."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import acp
import pytest
from acp import RequestError
from acp.schema import ImageContentBlock, ResourceContentBlock

from tests.agent.fixtures.acp_editor import LIMIT_SECONDS, OpenEditor, editor_on_stage
from tests.fixtures.bridle_program import BRIDLE_AGENT

pytestmark = pytest.mark.real

DONE = {"blocks": ["Done."]}


@asynccontextmanager
async def editor(
    folder: Path, *answers: dict[str, Any], flags: tuple[str, ...] = (), **more: str
) -> AsyncIterator[OpenEditor]:
    command = (str(BRIDLE_AGENT), "acp", *flags)
    async with editor_on_stage(folder, {"answers": list(answers)}, *command, buffers=None, **more) as opened:
        yield opened


def test_an_editor_learns_what_the_agent_can_do(tmp_path: Path) -> None:
    async def run() -> None:
        async with editor(tmp_path, DONE) as opened:
            about = opened.initialized
            assert (about.protocol_version, about.agent_info.name) == (acp.PROTOCOL_VERSION, "bridle-agent")
            assert about.agent_capabilities.load_session
            assert about.agent_capabilities.prompt_capabilities.image
            await opened.open()
            modes = [mode.id for mode in opened.opened.modes.available_modes]
            assert modes == ["default", "acceptEdits", "plan", "dontAsk"]
            await opened.editor.until(lambda update: update["sessionUpdate"] == "available_commands_update")

    asyncio.run(run())


def test_a_session_is_loaded_with_its_conversation_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "workspace" / "made.txt"
    write = {"type": "tool_use", "name": "Write", "input": {"file_path": str(path), "content": "hi\n"}}

    async def first() -> str:
        async with editor(tmp_path, {"blocks": ["I write.", write]}, DONE) as opened:
            session_id = await opened.open()
            await opened.prompt("write it")
            return session_id

    async def second(session_id: str) -> None:
        async with editor(tmp_path, {"blocks": ["Again."]}) as opened:
            workspace = str(opened.workspace)
            await opened.connection.load_session(cwd=workspace, session_id=session_id, mcp_servers=[])
            kinds = [update["sessionUpdate"] for update in opened.editor.updates]
            assert kinds[:5] == [
                "user_message_chunk",
                "agent_message_chunk",
                "tool_call",
                "tool_call_update",
                "agent_message_chunk",
            ]
            assert opened.editor.text("user_message_chunk") == "write it"
            opened.session_id = session_id
            await opened.prompt("and now?")
            assert opened.editor.text().endswith("Again.")
            assert len(opened.stage.requests[0].body["messages"]) >= 5

    asyncio.run(second(asyncio.run(first())))


def test_images_and_files_of_a_prompt_reach_the_model(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "notes.txt").write_text("the number is 7")
    image = ImageContentBlock(type="image", data="aGk=", mime_type="image/png")
    link = ResourceContentBlock(type="resource_link", uri=f"file://{tmp_path}/workspace/notes.txt", name="notes.txt")

    async def run() -> None:
        async with editor(tmp_path, DONE) as opened:
            await opened.open()
            await opened.prompt("look", image, link)
            sent = json.dumps(opened.stage.requests[0].body["messages"])
            assert '"media_type": "image/png"' in sent
            assert "the number is 7" in sent

    asyncio.run(run())


def test_the_plan_of_the_model_is_shown(tmp_path: Path) -> None:
    todos = [{"content": "Look", "status": "in_progress", "activeForm": "Looking"}]
    plan = {"blocks": [{"type": "tool_use", "name": "TodoWrite", "input": {"todos": todos}}]}

    async def run() -> None:
        async with editor(tmp_path, plan, DONE) as opened:
            await opened.open()
            await opened.prompt("plan")
            entries = opened.editor.of_kind("plan")[0]["entries"]
            assert entries == [{"content": "Look", "priority": "medium", "status": "in_progress"}]

    asyncio.run(run())


def test_two_sessions_run_side_by_side_in_one_process(tmp_path: Path) -> None:
    async def run() -> None:
        async with editor(tmp_path, {**DONE, "times": 2}) as opened:
            sessions = [await opened.open(), await opened.open()]
            turns = [opened.connection.prompt(session_id=one, prompt=[acp.text_block("hi")]) for one in sessions]
            assert [response.stop_reason for response in await asyncio.gather(*turns)] == ["end_turn"] * 2
            told = {update["sessionId"] for update in opened.editor.of_kind("agent_message_chunk")}
            assert told == set(sessions)

    asyncio.run(run())


def test_prompts_of_one_session_wait_for_each_other(tmp_path: Path) -> None:
    async def run() -> None:
        async with editor(tmp_path, {"blocks": ["One."]}, {"blocks": ["Two."]}) as opened:
            await opened.open()
            responses = await asyncio.gather(opened.prompt("one"), opened.prompt("two"))
            assert [response.stop_reason for response in responses] == ["end_turn"] * 2
            assert opened.editor.text() == "One.Two."

    asyncio.run(run())


def test_what_an_editor_does_wrong_is_an_error_with_its_code(tmp_path: Path) -> None:
    async def run() -> None:
        async with editor(tmp_path, DONE) as opened:
            await opened.open()
            unknown = "00000000-0000-4000-8000-000000000000"
            workspace = str(opened.workspace)
            wrong = {
                -32002: [
                    opened.connection.prompt(session_id=unknown, prompt=[acp.text_block("hi")]),
                    opened.connection.load_session(cwd=workspace, session_id=unknown, mcp_servers=[]),
                    opened.connection.load_session(cwd=workspace, session_id="../x", mcp_servers=[]),
                ],
                -32602: [
                    opened.connection.new_session(cwd="relative", mcp_servers=[]),
                    opened.connection.prompt(session_id=opened.session_id, prompt=[]),
                    opened.connection.set_session_mode(session_id=opened.session_id, mode_id="odd"),
                ],
                -32601: [opened.connection.ext_method("unknown", {})],
                -32603: [opened.connection.set_session_mode(session_id=opened.session_id, mode_id="bypassPermissions")],
            }
            for code, calls in wrong.items():
                for call in calls:
                    with pytest.raises(RequestError) as raised:
                        await call
                    assert raised.value.code == code

    asyncio.run(run())


@pytest.mark.parametrize(("status", "code"), [(401, -32000), (400, -32603)])
def test_a_request_that_fails_is_the_error_of_the_prompt(tmp_path: Path, status: int, code: int) -> None:
    refused = {"kind": "error", "status": status, "message": "no such thing", "times": "forever"}

    async def run() -> None:
        async with editor(tmp_path, refused, CLAUDE_CODE_MAX_RETRIES="0") as opened:
            await opened.open()
            with pytest.raises(RequestError, match="no such thing") as raised:
                await opened.prompt("hi")
            assert raised.value.code == code
            assert opened.editor.text() == ""

    asyncio.run(run())


def test_a_limit_of_turns_and_the_flags_of_the_command_hold_for_every_session(tmp_path: Path) -> None:
    call = {"blocks": [{"type": "tool_use", "name": "Bash", "input": {"command": "echo hi"}}], "times": "forever"}

    async def run() -> None:
        async with editor(tmp_path, call, flags=("--max-turns", "2", "--model", "haiku")) as opened:
            await opened.open()
            assert (await opened.prompt("go")).stop_reason == "max_turn_requests"
            assert opened.stage.requests[0].body["model"].startswith("claude-haiku")

    asyncio.run(run())


def test_a_choice_that_is_cancelled_ends_the_turn(tmp_path: Path) -> None:
    path = tmp_path / "workspace" / "made.txt"
    write = {"type": "tool_use", "name": "Write", "input": {"file_path": str(path), "content": "hi\n"}}

    async def run() -> None:
        async with editor(tmp_path, {"blocks": [write]}) as opened:
            opened.editor.choose = lambda _options: None
            await opened.open()
            assert (await opened.prompt("write")).stop_reason == "cancelled"
            assert not path.exists()

    asyncio.run(run())


def test_a_closed_session_is_gone(tmp_path: Path) -> None:
    async def run() -> None:
        async with editor(tmp_path, DONE) as opened:
            await opened.open()
            await opened.connection.close_session(session_id=opened.session_id)
            with pytest.raises(RequestError, match="Session not found"):
                await opened.prompt("hi")

    asyncio.run(run())


def acp_process(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [BRIDLE_AGENT, "acp", *arguments], input=stdin, capture_output=True, timeout=LIMIT_SECONDS, check=False
    )


def test_lines_that_are_no_messages_are_answered_and_the_end_of_the_input_ends_it() -> None:
    done = acp_process(stdin=b'oops\n{"jsonrpc": "2.0", "id": 7, "method": "odd"}\n[]\n')
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted((answer["id"] or 0, answer["error"]["code"]) for answer in answers) == [
        (0, -32700),
        (0, -32600),
        (7, -32601),
    ]
    assert (done.returncode, done.stderr) == (0, b"")


def test_flags_that_are_wrong_or_belong_to_a_session_are_refused() -> None:
    for flag in ("--no-such-flag", "-p", "--continue"):
        done = acp_process(flag)
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr
    assert b"Agent Client Protocol" in acp_process("--help").stdout


def test_a_signal_ends_it_with_its_code() -> None:
    with subprocess.Popen([BRIDLE_AGENT, "acp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}\n')
        child.stdin.flush()
        assert b"protocolVersion" in child.stdout.readline()
        child.send_signal(signal.SIGTERM)
        assert child.wait(LIMIT_SECONDS) == 128 + signal.SIGTERM
