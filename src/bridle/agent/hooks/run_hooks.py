"""Runs the hooks of an event side by side: commands, questions to a model, and callbacks of the host."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bridle.agent.control.host_requests import HostRequests
from bridle.agent.hooks.command_hook import run_command
from bridle.agent.hooks.definitions import CallbackHook, CommandHook, Hook, HookTable, PromptHook, merge_hooks
from bridle.agent.hooks.outcome import BLOCKS, HookOutcome, HookOutput, outcome_of
from bridle.agent.hooks.prompt_hook import Ask, run_prompt
from bridle.errors import HostFailure

# Events that do not continue without the answer of a callback, as measured with Claude Code.
_WAIT_FOR_ANSWER = ("PreToolUse", "UserPromptSubmit")


async def _no_model(_hook: PromptHook, _event: str, _text: str) -> str:
    raise HostFailure("This session has no model that a hook can ask. Use a hook of type command.")


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
    matches_rule: Callable[[str, str, dict[str, Any]], bool] = lambda _rule, _tool, _arguments: True
    """Returns whether a permission rule matches a tool and its arguments."""


class Hooks:
    """The hooks of a session; a host may add its own."""

    def __init__(self, table: HookTable, place: HookPlace, host: HostRequests | None) -> None:
        self._table, self._place, self._host = table, place, host
        self.ask: Ask = _no_model
        """Asks a model the question of a prompt hook."""
        self._background: set[asyncio.Task[HookOutput]] = set()

    def with_ask(self, ask: Ask) -> Hooks:
        """Return the same hooks, whose questions are asked in another way."""
        other = copy.copy(self)
        other.ask = ask
        return other

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
        context: Mapping[str, Any] | None = None,
        subject: str = "",
        call_id: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> HookOutcome:
        """Run the hooks of an event whose pattern matches the subject; each one once, and all at once.

        `context` are the fields of the session: the mode, the sub-agent; `fields` are those of the event.
        """
        matching = [matcher for matcher in self._table.get(event, ()) if matcher.matches(subject)]
        hooks = [
            hook
            for hook in dict.fromkeys(hook for matcher in matching for hook in matcher.hooks)
            if self._applies(hook, fields)
        ]
        if not hooks:
            return HookOutcome()
        payload = {**self._place.session(), **(context or {}), "hook_event_name": event, **fields}
        outputs = await asyncio.gather(
            *(self._run_one(hook, event, subject, payload, call_id, variables or {}) for hook in hooks)
        )
        return outcome_of(event, subject, outputs)

    async def close(self) -> None:
        """End the commands that run without being waited for."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    def _applies(self, hook: Hook, fields: Mapping[str, Any]) -> bool:
        """Return whether the call of an event matches the rule of a hook; other events have no call to match."""
        if not hook.condition:
            return True
        tool, arguments = fields.get("tool_name"), fields.get("tool_input")
        return (
            isinstance(tool, str)
            and isinstance(arguments, dict)
            and self._place.matches_rule(hook.condition, tool, arguments)
        )

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
        if isinstance(hook, PromptHook):
            return await self._ask(hook, event, payload)
        hook_id = self._place.on_start(event, subject)
        output = await self._run_command(hook, payload, variables)
        self._place.on_end(hook_id, event, subject, output)
        if output.exit_code not in (0, BLOCKS):
            late = f"no end within {hook.timeout_seconds:g} s" if output.exit_code is None else ""
            why = output.stderr.strip()[:500] or late
            self._place.note(f"hook {event} {hook.name!r} failed and is ignored: {why}")
        return output

    async def _run_command(
        self, hook: CommandHook, payload: dict[str, Any], variables: Mapping[str, str]
    ) -> HookOutput:
        """Run a command to its end, or until it says that the session need not wait for it."""
        environment = {**self._place.environment, **dict(hook.variables), **variables}
        is_async = asyncio.Event()
        running = asyncio.create_task(run_command(hook, payload, self._place.project, environment, is_async))
        if hook.is_async:
            is_async.set()
        continues = asyncio.create_task(is_async.wait())
        try:
            await asyncio.wait({running, continues}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            raise
        finally:
            continues.cancel()
        if running.done():
            return running.result()
        self._background.add(running)
        running.add_done_callback(self._background.discard)
        return HookOutput(hook.name)

    async def _ask(self, hook: PromptHook, event: str, payload: dict[str, Any]) -> HookOutput:
        output = await run_prompt(hook, event, payload, self.ask)
        if output.condition is None:
            self._place.note(f"hook {event} {hook.name!r} failed and is ignored: {output.stderr[:500]}")
        elif not output.condition.is_met:
            self._place.note(f"hook {event} {hook.name!r}: not met: {output.condition.reason[:500]}")
        return output

    async def _call_back(self, hook: CallbackHook, payload: dict[str, Any], call_id: str | None) -> HookOutput:
        if self._host is None:
            return HookOutput(hook.callback_id, None)
        request = {"subtype": "hook_callback", "callback_id": hook.callback_id, "input": payload}
        request["tool_use_id"] = call_id or self._host.new_id()  # callbacks expect one for every event
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
