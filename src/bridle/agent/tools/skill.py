"""The Skill tool: give the model a skill's text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar

from bridle.agent.skills.catalogue import Skills
from bridle.agent.skills.expand import RunInline, expand_skill
from bridle.agent.skills.skill_document import Skill
from bridle.agent.skills.slash_commands import CUTOFF
from bridle.agent.tools.contract.input_schema import input_schema
from bridle.agent.tools.contract.tool import ToolResult, failed_result, rejected_call
from bridle.errors import UserError
from bridle.ground.suggest import did_you_mean


class SkillTool:
    """Looks a skill up by its name and hands out its text."""

    name = "Skill"
    description = (
        "Use one of the skills that are listed for you: its instructions come right after the result, and you follow "
        "them. skill is its name as listed (plugin:name for a plugin's), args is what it should work on. Call it "
        "before you begin with the work it is for. Only names on the list exist; a skill whose instructions you "
        "already have need not be called again."
    )
    schema: ClassVar[dict[str, Any]] = input_schema(
        {"skill": {"type": "string"}, "args": {"type": "string"}}, ["skill"]
    )

    def __init__(
        self,
        skills: Skills,
        *,
        session_id: str,
        inline: RunInline | None = None,
        on_launch: Callable[[Skill], None] | None = None,
        local_commands: Collection[str] = (),
    ) -> None:
        """`inline` runs commands in a skill's text, `on_launch` hears which one begins (it may allow tools)."""
        self._skills = skills
        self._session_id = session_id
        self._inline = inline
        self._on_launch = on_launch
        self._local_commands = local_commands

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:  # noqa: ARG002  # every tool is given it
        """Hand out the text of the skill."""
        name = arguments["skill"].strip().removeprefix("/")
        skill = self._skills.find(name)
        if skill is None or not skill.for_model:
            return rejected_call(self._refusal(name, skill))
        args = arguments.get("args") or ""
        try:
            text = await expand_skill(
                skill, args, skills=self._skills, session_id=self._session_id, inline=self._inline
            )
        except UserError as error:
            return failed_result(str(error))
        if self._on_launch is not None:
            self._on_launch(skill)
        return ToolResult(f"Launching skill: {name}", detail=_detail(name, skill), follow_up=(text,))

    def _refusal(self, name: str, skill: Skill | None) -> str:
        if skill is not None:
            return f"Skill {name} cannot be used with Skill tool due to disable-model-invocation"
        if not name:
            return "Invalid skill format: "
        if name in self._local_commands:
            return f"{name} is a command of this program and no skill: only the user can run /{name}."
        hint = did_you_mean(name, [skill.name for skill in self._skills.all() if skill.for_model], cutoff=CUTOFF)
        return f"Unknown skill: {name}" + (f". {hint}" if hint else "")


def _detail(name: str, skill: Skill) -> dict[str, Any]:
    detail: dict[str, Any] = {"success": True, "commandName": name}
    if skill.allowed_tools:
        detail["allowedTools"] = list(skill.allowed_tools)
    if skill.model is not None:
        detail["model"] = skill.model
    return detail
