"""Commands that stand in a skill's text as !`command`: run like any other, if they may run."""

from __future__ import annotations

from collections.abc import Callable

from bridle.agent.skills.expand import RunInline
from bridle.agent.tools.contract.shown_output import NO_OUTPUT
from bridle.agent.tools.contract.tool import Tool
from bridle.errors import UserError


def inline_commands(bash: Tool, refusal: Callable[[str], str | None]) -> RunInline:
    """Make what runs them; `refusal` says why a command may not run, or nothing."""

    async def run(command: str) -> str:
        why = refusal(command)
        if why is not None:
            raise UserError(f"!`{command}` stands in this skill and may not run: {why}")
        answer = await bash.run({"command": command}, call_id="inline")
        text = answer.content if isinstance(answer.content, str) else ""
        if answer.is_error:
            raise UserError(f'Shell command failed for pattern "!`{command}`": {text}')
        return "" if text == NO_OUTPUT else text

    return run
