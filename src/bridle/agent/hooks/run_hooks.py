"""Runs the hooks of an event side by side: commands as child processes, callbacks as requests to the host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bridle.agent.control.host_requests import HostRequests
from bridle.agent.hooks.definitions import CallbackHook, CommandHook, Hook, HookTable, merge_hooks
from bridle.agent.hooks.outcome import BLOCKS, HookOutcome, HookOutput, outcome_of
from bridle.errors import HostFailure, ProcessError
from bridle.wire.events.loose_json import to_bytes

# More of a hook's output is not read: it is a decision or a text for the model.
_OUTPUT_CHARACTERS = 100_000
# Events that do not continue without the answer of a callback, as measured with Claude Code.
_WAIT_FOR_ANSWER = ("PreToolUse", "UserPromptSubmit")


class HookPlace(msgspec.Struct, frozen=True):
    """Where hooks run, and what they know of the session."""

    project: Path
    environment: Mapping[str, str]
    session: Callable[[], dict[str, Any]]
    """Returns the fields that every event has."""
    on_start: Callable[[str, str], str] = lambda _event, _subject: ""
    """Reports that a hook starts, by event and subject; returns its id."""
    on_end: Callable[[str, str, str, HookOutput], None] = lambda _id, _event, _subject, _output: None
    note: Callable[[str], None] = lambda _text: None
    """Writes a line to the debug log."""


class Hooks:
    """The hooks of a session; a host may add its own."""

    def __init__(self, table: HookTable, place: HookPlace, host: HostRequests | None) -> None:
        self._table, self._place, self._host = table, place, host

    def add(self, table: HookTable) -> None:
        """Add the hooks that a host registers."""
        self._table = merge_hooks(self._table, table)

    def has(self, event: str) -> bool:
        """Return whether any hook handles an event."""
        return event in self._table

    async def run(
        self,
        event: str,
        fields: Mapping[str, Any],
        *,
        subject: str = "",
        call_id: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> HookOutcome:
        """Run the hooks of an event whose pattern matches the subject; each one once, and all at once."""
        matching = [matcher for matcher in self._table.get(event, ()) if matcher.matches(subject)]
        hooks = list(dict.fromkeys(hook for matcher in matching for hook in matcher.hooks))
        if not hooks:
            return HookOutcome()
        payload = {**self._place.session(), "hook_event_name": event, **fields}
        outputs = await asyncio.gather(
            *(self._run_one(hook, event, subject, payload, call_id, variables or {}) for hook in hooks)
        )
        return outcome_of(event, subject, outputs)

    async def _run_one(
        self,
        hook: Hook,
        event: str,
        subject: str,
        payload: dict[str, Any],
        call_id: str | None,
        variables: Mapping[str, str],
    ) -> HookOutput:
        if isinstance(hook, CallbackHook):
            return await self._call_back(hook, payload, call_id)
        hook_id = self._place.on_start(event, subject)
        output = await self._run_command(hook, payload, variables)
        self._place.on_end(hook_id, event, subject, output)
        if output.exit_code not in (0, BLOCKS):
            self._place.note(f"hook {event} {hook.command!r} failed and is ignored: {output.stderr.strip()[:500]}")
        return output

    async def _run_command(
        self, hook: CommandHook, payload: dict[str, Any], variables: Mapping[str, str]
    ) -> HookOutput:
        from bridle.ground.children.capture import capture  # late: most sessions have no hooks

        environment = {**self._place.environment, **dict(hook.variables), **variables}
        try:
            done = await capture(
                ("/bin/sh", "-c", hook.command),
                cwd=self._place.project,
                environment=environment,
                limit_seconds=hook.timeout_seconds,
                stdin=to_bytes(payload) + b"\n",
                waits_for_output=False,
            )
        except ProcessError as error:
            return HookOutput(hook.command, None, stderr=error.message)
        late = f"did not end within {hook.timeout_seconds:g} seconds" if done.exit_code is None else ""
        return HookOutput(hook.command, done.exit_code, _decoded(done.stdout), late or _decoded(done.stderr))

    async def _call_back(self, hook: CallbackHook, payload: dict[str, Any], call_id: str | None) -> HookOutput:
        if self._host is None:
            return HookOutput(hook.callback_id, None)
        request = {"subtype": "hook_callback", "callback_id": hook.callback_id, "input": payload}
        if call_id is not None:
            request["tool_use_id"] = call_id
        try:
            async with asyncio.timeout(hook.timeout_seconds):
                answer = await self._host.send(request)
        except (HostFailure, TimeoutError) as failure:
            is_late = isinstance(failure, TimeoutError)
            late = f"no answer within {hook.timeout_seconds:g} s"
            text = failure.message if isinstance(failure, HostFailure) else late
            self._place.note(f"hook callback {hook.callback_id} failed: {text}")
            blocks = hook.must_answer or (is_late and payload["hook_event_name"] in _WAIT_FOR_ANSWER)
            return HookOutput(hook.callback_id, BLOCKS if blocks else None, stderr=text)
        return HookOutput(hook.callback_id, answer=answer)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")[:_OUTPUT_CHARACTERS]
