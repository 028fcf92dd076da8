"""The tools of a session: offers them to the model, validates its calls, and runs those that are permitted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from bridle.agent.model.api.stream_pieces import UNPARSED
from bridle.agent.permissions.approval import Approver, CallToApprove, Rejected
from bridle.agent.permissions.decide import decide, only_reads
from bridle.agent.permissions.rules.policy import Allowed, Denied, NeedsApproval, Policy, Verdict
from bridle.agent.permissions.rules.syntax import canonical
from bridle.agent.tools.arguments import validate_arguments, validate_known
from bridle.agent.tools.call_hooks import BeforeCall, CallHooks
from bridle.agent.tools.contract.tool import ContentBlock, Tool, ToolResult, failed_result, run_tool
from bridle.agent.tools.contract.tool_paths import cannot_check_call
from bridle.agent.tools.hook_decisions import (
    ask_host_and_hooks,
    invalid_hook_input,
    invalid_host_input,
    with_output,
)
from bridle.agent.tools.shell_tools import normalize_arguments
from bridle.agent.tools.shown_arguments import as_sent, show_arguments
from bridle.agent.tools.structured_output import StructuredOutput

# Calls that change nothing another call could see, and sub-agents: any number of them may run concurrently.
_READ_ONLY = frozenset(
    {
        "Agent",
        "Glob",
        "Grep",
        "ListMcpResourcesTool",
        "Read",
        "ReadMcpResourceTool",
        "Task",
        "TaskGet",
        "TaskList",
        "TaskOutput",
        "WebFetch",
        "WebSearch",
    }
)
# What the model reads about a call that a hook deferred when the conversation continues.
DEFERRED = "This call was deferred by a hook of the host and did not run."
# The beginning of the names of MCP tools.
_MCP = "mcp__"


class ToolCall(msgspec.Struct, frozen=True):
    """A tool call of the model, after validation."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    """With defaults; as the model sent them if they are invalid."""
    refusal: ToolResult | None
    """The result of a call that cannot run."""
    is_concurrent: bool = False
    """Whether it may run concurrently; a call that changes something waits for those before it."""

    @property
    def block(self) -> ContentBlock:
        """The call as it is printed and sent back."""
        return {"type": "tool_use", "id": self.call_id, "name": self.name, "input": self.arguments}


class FinishedCall(msgspec.Struct, frozen=True):
    """A tool call and its result."""

    call: ToolCall
    answer: ToolResult
    is_denied: bool = False
    interrupts: bool = False
    """Whether the host ended the whole turn when it rejected the call."""
    stops: str | None = None
    """The reason of a hook that ends the turn."""
    is_deferred: bool = False
    """Whether a hook ends the turn before the call, which the host makes later."""


class Toolbox:
    """All tools of this program, and the subset that the model is offered."""

    def __init__(
        self,
        tools: Sequence[Tool],
        offered: Sequence[str],
        *,
        note: Callable[[str], None],
        approver: Approver | None = None,
        hooks: CallHooks | None = None,
    ) -> None:
        """Use `note` to log each permission decision to the debug log, and `approver` to ask the host."""
        self._note, self._approver, self._hooks = note, approver, hooks
        self._known = {tool.name: tool for tool in tools}
        self._own = {name: self._known[name] for name in offered}
        self._more: Callable[[], Mapping[str, Tool]] | None = None
        """Returns the tools of MCP servers, which may change."""

    def add_source(self, source: Callable[[], Mapping[str, Tool]]) -> None:
        """Offer the tools of MCP servers too, as they are when the model is asked."""
        self._more = source

    @property
    def _offered(self) -> Mapping[str, Tool]:
        if self._more is None or not (more := self._more()):
            return self._own
        return dict(sorted({**more, **self._own}.items()))

    @property
    def names(self) -> list[str]:
        """The names of the offered tools."""
        return list(self._offered)

    @property
    def known(self) -> dict[str, Tool]:
        """All tools by name, also those that are not offered."""
        return {**self._known, **self._offered}

    def definitions(self) -> list[ContentBlock]:
        """Return the `tools` of a request."""
        return [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
            for tool in self._offered.values()
        ]

    def prepare(self, block: ContentBlock, policy: Callable[[], Policy]) -> ToolCall:
        """Validate a `tool_use` block: find its tool and complete its arguments, or say why it cannot run."""
        call_id, name, sent = str(block.get("id") or ""), str(block.get("name") or ""), block.get("input")
        arguments = sent if isinstance(sent, dict) else {}
        tool = self._offered.get(canonical(name))
        if tool is None:
            return ToolCall(call_id, name, arguments, self._no_such_tool(name), is_concurrent=True)
        if UNPARSED in arguments:
            return ToolCall(call_id, name, arguments, _unparsed_input(name, arguments[UNPARSED]), is_concurrent=True)
        if isinstance(tool, StructuredOutput):  # it accepts more than the validation
            return ToolCall(call_id, name, tool.matching_input(arguments), None)
        if name.startswith(_MCP):  # the server validates its input
            return ToolCall(call_id, name, arguments, None, getattr(tool, "is_read_only", False))
        checked = validate_arguments(tool.name, tool.schema, normalize_arguments(name, arguments))
        if isinstance(checked, ToolResult):
            return ToolCall(call_id, name, arguments, checked, is_concurrent=True)
        is_concurrent = name in _READ_ONLY or (name == "Bash" and only_reads(checked, policy()))
        return ToolCall(call_id, name, checked, None, is_concurrent)

    async def run(self, call: ToolCall, policy: Callable[[], Policy]) -> FinishedCall:
        """Run a call if it is permitted; every call gets a result."""
        if call.refusal is not None:
            return FinishedCall(call, call.refusal)
        before, shown = BeforeCall(), show_arguments(call.name, call.arguments, policy())
        if self._hooks is not None:
            before = await self._hooks.before(call.call_id, call.name, shown)
            before = replace(before, arguments=as_sent(call.arguments, shown, before.arguments))
        done = await self._run_permitted(call, before, policy)
        if done.is_denied:
            listed = show_arguments(call.name, done.call.arguments, policy())
            done = replace(done, call=replace(done.call, arguments=listed))
        if before.texts:
            done = _with_texts(done, before.texts)
        return replace(done, stops=before.stops) if before.stops is not None else done

    async def _run_permitted(self, call: ToolCall, before: BeforeCall, policy: Callable[[], Policy]) -> FinishedCall:
        if before.permission == "deny":
            return FinishedCall(call, failed_result(before.reason), is_denied=True)
        if before.permission == "defer":
            return FinishedCall(call, failed_result(DEFERRED), is_deferred=True)
        runs = self._with_arguments(call, before.arguments)
        if runs.refusal is not None:
            return FinishedCall(call, invalid_hook_input(call.name, runs.refusal), is_denied=True)
        verdict = _after_hooks(self._decide(runs, policy()), before, call.name)
        self._note(f"{call.name} {call.call_id}: {verdict}")
        if isinstance(verdict, NeedsApproval) and verdict.kind != "mode" and self._approver is not None:
            shown = show_arguments(runs.name, runs.arguments, policy())
            wanted = CallToApprove(call.call_id, call.name, shown, verdict, folder=policy().cwd)
            decision = await ask_host_and_hooks(wanted, self._approver, self._hooks)
            self._note(f"{call.name} {call.call_id}: {decision}")
            if isinstance(decision, Rejected):
                if decision.is_failure:
                    return FinishedCall(call, cannot_check_call(call.name, decision.text))
                rejected = failed_result(decision.text)
                return FinishedCall(runs, rejected, is_denied=True, interrupts=decision.ends_turn)
            runs = self._with_arguments(runs, as_sent(runs.arguments, shown, decision.arguments))
            if runs.refusal is not None:
                return FinishedCall(call, invalid_host_input(call.name, runs.refusal))
            verdict = _approved(self._decide(runs, policy()), "the host approved")
        if isinstance(verdict, Denied):
            return FinishedCall(runs, _denied(verdict.text), is_denied=verdict.is_listed)
        if isinstance(verdict, NeedsApproval):  # no user is there to decide
            return FinishedCall(runs, failed_result(verdict.text), is_denied=True)
        shown = show_arguments(runs.name, runs.arguments, policy())
        return await self._execute(call, runs, verdict, shown)

    def _decide(self, call: ToolCall, policy: Policy) -> Verdict:
        tool = self._offered.get(canonical(call.name))
        judge: Callable[[dict[str, Any], Policy], Verdict] = getattr(tool, "judge", partial(decide, call.name))
        return judge(call.arguments, policy)

    def _with_arguments(self, call: ToolCall, arguments: dict[str, Any] | None) -> ToolCall:
        """Return a call with the arguments of a hook or the host; those that are invalid become its refusal.

        Arguments that the tool does not know are dropped: programs add some for themselves.
        """
        if arguments is None or arguments == call.arguments:
            return call
        if call.name.startswith(_MCP):
            return replace(call, arguments=arguments)
        tool = self._offered[canonical(call.name)]
        checked = validate_known(tool.name, tool.schema, normalize_arguments(call.name, arguments))
        if isinstance(checked, ToolResult):
            return replace(call, refusal=checked)
        return replace(call, arguments=checked)

    async def _execute(self, call: ToolCall, runs: ToolCall, verdict: Allowed, shown: dict[str, Any]) -> FinishedCall:
        tool, started = self._offered.get(canonical(call.name)), time.monotonic()
        if tool is None:  # its MCP server is gone
            return FinishedCall(call, self._no_such_tool(call.name))
        try:
            answer = await run_tool(tool, runs.arguments, call_id=call.call_id, resolved=verdict.path)
        except Exception as error:  # noqa: BLE001  # a bug in a tool must not end the conversation
            answer = failed_result(f"{call.name} failed with an internal error: {type(error).__name__}: {error}")
        done = FinishedCall(call, answer)
        if self._hooks is None:
            return done
        milliseconds = round((time.monotonic() - started) * 1000)
        after = await self._hooks.after(call.call_id, call.name, shown, answer, milliseconds=milliseconds)
        if after.output is not UNSET:
            done = replace(done, answer=with_output(answer, after.output))
        return replace(_with_texts(done, after.texts), stops=after.stops)

    def _no_such_tool(self, name: str) -> ToolResult:
        message = f"Error: No such tool available: {name}"
        if canonical(name) in self._known:
            message += f". {name} exists but is not enabled in this context. Use one of the available tools instead."
        return ToolResult(f"<tool_use_error>{message}</tool_use_error>", detail=message, is_error=True)


def _after_hooks(verdict: Verdict, before: BeforeCall, tool: str) -> Verdict:
    """Return the verdict after what the hooks decided; a deny rule and plan mode hold against them."""
    if before.permission == "allow":
        return _approved(verdict, "a hook allowed it")
    if before.permission != "ask" or isinstance(verdict, Denied):
        return verdict
    if isinstance(verdict, NeedsApproval) and verdict.kind in ("mode", "rule"):
        return verdict
    reason = before.reason or f"Hook PreToolUse:{tool} asked for confirmation for this tool"
    return NeedsApproval(reason, path=verdict.path, kind="hook")


def _approved(verdict: Verdict, reason: str) -> Verdict:
    if isinstance(verdict, NeedsApproval) and verdict.kind != "mode":
        return Allowed(reason, verdict.path)
    return verdict


def _with_texts(done: FinishedCall, texts: tuple[str, ...]) -> FinishedCall:
    return replace(done, answer=replace(done.answer, reminders=(*done.answer.reminders, *texts)))


def _denied(text: str) -> ToolResult:
    """Return a denial; programs get the text without the tags that some denials have for the model."""
    bare = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    return ToolResult(text, detail=bare if bare.startswith("Error ") else f"Error: {bare}", is_error=True)


def _unparsed_input(name: str, about: Any) -> ToolResult:
    raw, size = (about["raw"], about["len"]) if isinstance(about, dict) else ("", 0)
    shown = raw[:200]
    message = (
        f"InputValidationError: {name} was called with input that could not be parsed as JSON.\n"
        f"You sent (first {len(shown)} of {size} bytes): {shown}\n"
        "It is truncated, or contains an unescaped backslash or control character. Send it again as valid JSON."
    )
    detail = f"InputValidationError: JSON parse failed ({size} bytes)"
    return ToolResult(f"<tool_use_error>{message}</tool_use_error>", detail=detail, is_error=True)
