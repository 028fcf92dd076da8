"""Runs the !`command` parts of a skill's text with Bash, if they are permitted."""

from __future__ import annotations

from collections.abc import Callable

from bridle.agent.skills.expand import RunInline
from bridle.agent.tools.contract.shown_output import NO_OUTPUT
from bridle.agent.tools.contract.tool import Tool, run_tool
from bridle.errors import UserError


def inline_commands(bash: Tool, refusal: Callable[[str], str | None]) -> RunInline:
    """Return a function that runs inline commands; `refusal` returns why one is not permitted, or None."""

    async def run(command: str) -> str:
        reason = refusal(command)
        if reason is not None:
            raise UserError(f"the skill's command !`{command}` is not permitted: {reason}")
        result = await run_tool(bash, {"command": command}, call_id="inline")
        text = result.content if isinstance(result.content, str) else ""
        if result.is_error:
            raise UserError(f'Shell command failed for pattern "!`{command}`": {text}')
        return "" if text == NO_OUTPUT else text

    return run
