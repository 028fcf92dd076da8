"""PermissionRequest hooks beside the host, and outputs that a hook replaces."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from bridle.agent.permissions.approval import Approved, CallToApprove, Rejected
from bridle.agent.permissions.rules.policy import NeedsApproval
from bridle.agent.tools.call_hooks import AfterCall, BeforeCall
from bridle.agent.tools.contract.tool import ToolResult
from bridle.agent.tools.hook_decisions import ask_host_and_hooks, with_output

CALL = CallToApprove("id", "Bash", {"command": "touch x"}, NeedsApproval("why"))


class _Host:
    """A host that answers at once, or never."""

    def __init__(self, *, answers: bool) -> None:
        self.updates: list[object] = []
        self.was_cancelled = False
        self._answers = answers

    async def approve(self, call: CallToApprove) -> Approved | Rejected:
        if self._answers:
            return Rejected(f"the host denies {call.call_id}")
        try:
            await asyncio.Event().wait()
        finally:
            self.was_cancelled = True
        raise AssertionError

    def update(self, updates: object) -> None:
        self.updates.append(updates)


class _Hooks:
    """Hooks with one decision; without one they never end, or decide nothing."""

    def __init__(self, decision: dict[str, Any] | None, *, ends: bool = True) -> None:
        self._decision, self._ends = decision, ends

    async def before(self, call_id: str, tool: str, arguments: dict[str, Any]) -> BeforeCall:
        raise NotImplementedError

    async def after(
        self, call_id: str, tool: str, arguments: dict[str, Any], answer: ToolResult, *, milliseconds: int
    ) -> AfterCall:
        raise NotImplementedError

    @property
    def has_permission_hooks(self) -> bool:
        return True

    async def permission(
        self, call_id: str, tool: str, arguments: dict[str, Any], suggestions: Sequence[dict[str, Any]]
    ) -> dict[str, Any] | None:
        if not self._ends:
            await asyncio.Event().wait()
        return self._decision


def test_a_hook_that_allows_changes_the_call_and_cancels_the_request_to_the_host() -> None:
    async def main() -> None:
        host = _Host(answers=False)
        hooks = _Hooks({"behavior": "allow", "updatedInput": {"command": "ls"}, "updatedPermissions": [7]})
        assert await ask_host_and_hooks(CALL, host, hooks) == Approved({"command": "ls"})
        assert (host.was_cancelled, host.updates) == (True, [[7]])

    asyncio.run(main())


@pytest.mark.parametrize(
    ("decision", "text"),
    [({"behavior": "deny", "message": "no"}, "no"), ({"behavior": "deny"}, "Permission denied by hook")],
)
def test_a_hook_that_denies_gives_its_message(decision: dict[str, Any], text: str) -> None:
    async def main() -> None:
        assert await ask_host_and_hooks(CALL, _Host(answers=False), _Hooks(decision)) == Rejected(text)

    asyncio.run(main())


@pytest.mark.parametrize("hooks", [None, _Hooks(None), _Hooks({"behavior": "?"}), _Hooks({}, ends=False)])
def test_without_a_decision_of_a_hook_the_host_decides(hooks: _Hooks | None) -> None:
    async def main() -> None:
        assert await ask_host_and_hooks(CALL, _Host(answers=True), hooks) == Rejected("the host denies id")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ("text", "text"),
        ({"stdout": "out", "stderr": "err"}, "out\nerr"),
        ({"stdout": "out"}, "out"),
        ([{"type": "text", "text": "a"}], [{"type": "text", "text": "a"}]),
        ({"n": 1}, '{"n":1}'),
    ],
)
def test_an_output_replaces_what_the_model_and_programs_read(output: Any, content: object) -> None:
    changed = with_output(ToolResult("old", detail={"a": 1}), output)
    assert (changed.content, changed.detail) == (content, output)
