"""One session of an editor: a run in this process, whose events and control requests are translated."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from bridle.agent.acp.editor_files import EditorFiles, FileMethods
from bridle.agent.acp.json_rpc import INTERNAL_ERROR, RpcError
from bridle.agent.acp.permission_choice import decision, permission_request
from bridle.agent.acp.turn_end import prompt_response
from bridle.agent.acp.updates import Updates
from bridle.agent.assemble.run_agent import Run
from bridle.agent.stdio.inbox import Prompt
from bridle.agent.stdio.output import Output
from bridle.agent.stdio.output_events import Event
from bridle.errors import Error
from bridle.wire.events.events import ControlResponse
from bridle.wire.events.loose_json import JsonObject

# A turn that was interrupted ends its commands within seconds; a session that takes longer is left to the process end.
CLOSE_SECONDS = 10.0


class Editor(Protocol):
    """What a session needs of the connection."""

    async def request(self, method: str, params: JsonObject) -> Any:
        """Send a request and return its result."""

    def notify(self, method: str, params: JsonObject) -> None:
        """Send a notification."""


class SessionOutput(Output):
    """The output of a run in this process: events and control messages go to a session, not to standard output."""

    def __init__(self) -> None:
        super().__init__()
        self.on_message: Callable[[JsonObject], None] = lambda _message: None

    def event(self, event: Event) -> None:
        """Hand over an event."""
        self.on_message(msgspec.to_builtins(event))

    def write(self, data: bytes) -> None:
        """Hand over control messages, one on each line."""
        for line in data.splitlines():
            self.on_message(msgspec.json.decode(line))

    async def drained(self) -> None:
        """Return at once: nothing is queued here."""


class AcpSession:
    """A session: one turn at a time, others wait for it."""

    def __init__(self, run: Run, output: SessionOutput, editor: Editor, cwd: str, methods: FileMethods) -> None:
        self.id = run.conversation.log.session.id
        self._run, self._editor, self._cwd = run, editor, cwd
        self._updates = Updates(cwd)
        self._files = EditorFiles(editor, methods, self.id, cwd)
        self._turn = asyncio.Lock()
        self._cancels = 0
        self._result: asyncio.Future[JsonObject] | None = None
        self._error: str | None = None
        self._numbers = itertools.count(1)
        self._responses: dict[str, asyncio.Future[JsonObject]] = {}
        self._choices: dict[str, asyncio.Task[None]] = {}
        output.on_message = self._receive
        self._loop = asyncio.create_task(run.loop.run(None))
        self._loop.add_done_callback(self._on_end)

    async def prompt(self, content: list[JsonObject]) -> JsonObject:
        """Run one turn and return the response to its prompt. Raises RpcError if it fails."""
        cancels = self._cancels
        async with self._turn:
            if cancels != self._cancels:
                return {"stopReason": "cancelled"}
            if self._loop.done():
                raise RpcError(INTERNAL_ERROR, "the session has ended")
            self._result, self._error = asyncio.get_running_loop().create_future(), None
            self._run.conversation.inbox.add_prompt(Prompt(content))
            try:
                result = await self._result
            finally:
                self._result = None
            return prompt_response(result, self._error)

    async def begin(self) -> JsonObject:
        """Register the hooks of the editor's files; return the description of the session."""
        return await self.control({"subtype": "initialize", "hooks": self._files.hooks()})

    async def cancel(self) -> None:
        """Interrupt the turn; prompts that wait for it are cancelled too."""
        self._cancels += 1
        await self.control({"subtype": "interrupt"})

    async def set_mode(self, mode: str) -> None:
        """Change the permission mode. Raises RpcError if it cannot be chosen."""
        await self.control({"subtype": "set_permission_mode", "mode": mode})

    async def control(self, request: JsonObject) -> JsonObject:
        """Send a control request to the run and return its response."""
        request_id = f"acp-{next(self._numbers)}"
        response: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._responses[request_id] = response
        self._run.conversation.inbox.add_control(request_id, request)
        try:
            return await response
        finally:
            self._responses.pop(request_id, None)

    @property
    def mode(self) -> str:
        """The permission mode as it is now."""
        return self._run.conversation.setup.policy.mode

    def replay(self) -> None:
        """Show the conversation of earlier processes."""
        for message in self._run.conversation.log.messages:
            self._show(self._updates.of_history(dict(message)))

    def show_commands(self, commands: list[JsonObject]) -> None:
        """Show the slash commands of the session."""
        shown = [
            {
                "name": command.get("name", ""),
                "description": command.get("description", ""),
                **({"input": {"hint": hint}} if (hint := command.get("argumentHint")) else {}),
            }
            for command in commands
        ]
        self._show([{"sessionUpdate": "available_commands_update", "availableCommands": shown}])

    async def close(self) -> None:
        """End the session: its turn, its commands and its connections."""
        self._run.conversation.interrupt()
        self._run.conversation.inbox.end()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.wait([self._loop])
        except TimeoutError:
            self._loop.cancel()
        await self._run.close()

    def _show(self, updates: list[JsonObject]) -> None:
        for update in updates:
            self._editor.notify("session/update", {"sessionId": self.id, "update": update})

    def _receive(self, message: JsonObject) -> None:
        """Handle a message that the run prints."""
        match message:
            case {"type": "control_request", "request_id": str(request_id), "request": dict(request)}:
                self._ask(request_id, request)
            case {"type": "control_cancel_request", "request_id": str(request_id)}:
                if (task := self._choices.pop(request_id, None)) is not None:
                    task.cancel()
            case {"type": "control_response", "response": dict(response)}:
                self._deliver(response)
            case {"type": "result"}:
                if self._result is not None and not self._result.done() and not message.get("origin"):
                    self._result.set_result(message)
            case _:
                if isinstance(error := message.get("error"), str):
                    self._error = error
                self._show(self._updates.of_event(message))

    def _deliver(self, response: JsonObject) -> None:
        pending = self._responses.get(str(response.get("request_id")))
        if pending is None or pending.done():
            return
        if response.get("subtype") == "success":
            payload = response.get("response")
            pending.set_result(payload if isinstance(payload, dict) else {})
        else:
            pending.set_exception(RpcError(INTERNAL_ERROR, str(response.get("error"))))

    def _ask(self, request_id: str, request: JsonObject) -> None:
        task = self._choices[request_id] = asyncio.create_task(self._answer(request_id, request))
        task.add_done_callback(lambda _task: self._choices.pop(request_id, None))

    async def _answer(self, request_id: str, request: JsonObject) -> None:
        """Answer a control request of the run with the choice of the user, or from the files of the editor."""
        answer: JsonObject
        try:
            payload = await self._payload(request)
            answer = {"subtype": "success", "request_id": request_id, "response": payload}
        except RpcError as error:
            answer = {"subtype": "error", "request_id": request_id, "error": error.message}
        self._run.conversation.inbox.on_response(ControlResponse(response=answer))

    async def _payload(self, request: JsonObject) -> JsonObject:
        match request:
            case {"subtype": "can_use_tool"}:
                asked = permission_request(self.id, request, self._cwd)
                return decision(request, await self._editor.request("session/request_permission", asked))
            case {"subtype": "hook_callback", "callback_id": callback_id, "input": dict(sent)}:
                return await self._files.answer(callback_id, sent)
        raise RpcError(INTERNAL_ERROR, f"an editor cannot answer {request.get('subtype')}")

    def _on_end(self, task: asyncio.Task[None]) -> None:
        """Fail the turn that waits, if the run ended without its result."""
        error = None if task.cancelled() else task.exception()
        if self._result is not None and not self._result.done():
            text = error.message if isinstance(error, Error) else f"the session ended: {error!r}"
            self._result.set_exception(RpcError(INTERNAL_ERROR, text))
