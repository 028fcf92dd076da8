"""What decides about calls that need approval: the host, a tool of an MCP server, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bridle.agent.assemble.run_inputs import RunInputs
from bridle.agent.control.host_requests import HostRequests
from bridle.agent.conversation.model_setup import ModelSetup
from bridle.agent.permissions.approval import Approver
from bridle.agent.tools.contract.tool import Tool

STDIO = "stdio"


def make_approver(
    inputs: RunInputs,
    setup: ModelSetup,
    host: HostRequests | None,
    tools: Callable[[], Mapping[str, Tool]],
    on_mode: Callable[[str], None],
    *,
    may_bypass: bool,
) -> Approver | None:
    """Return what `--permission-prompt-tool` names; None without the flag. `tools` are those of MCP servers.

    `on_mode` learns of a mode that an approval has changed.
    """
    name = inputs.options.prompt_tool
    if not name:
        return None
    from bridle.agent.permissions.updates import apply_updates  # late: most runs ask about nothing

    def update(updates: object) -> None:
        before = setup.policy.mode
        setup.policy = apply_updates(setup.policy, updates, may_bypass=may_bypass)
        if setup.policy.mode != before:
            on_mode(setup.policy.mode)

    if name != STDIO:
        from bridle.agent.control.prompt_tool import PromptTool

        return PromptTool(name, tools, update)
    from bridle.agent.control.permission_prompts import PermissionPrompts

    return PermissionPrompts(host or _closed(), update)


def without_prompt_tool(inputs: RunInputs, tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Return the tools that are offered to the model: all but the one that decides."""
    return {name: tool for name, tool in tools.items() if name != inputs.options.prompt_tool}


def _closed() -> HostRequests:
    """Return the requests of a run without a host: each fails at once."""
    host = HostRequests(lambda _data: None, str)
    host.close()
    return host
