"""The Skill tool: returns the instructions of a skill to the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, ClassVar

import msgspec

from bridle.agent.model.api.models import Model
from bridle.agent.permissions.decide import FREE, approval_of_skill, decide
from bridle.agent.permissions.rules.policy import Allowed, Denied, NeedsApproval, Policy, Verdict
from bridle.agent.skills.catalogue import Skills
from bridle.agent.skills.skill_files import Skill
from bridle.agent.tools.contract.input_schema import JsonSchema, input_schema
from bridle.agent.tools.contract.tool import ToolResult, failed_result, rejected_call
from bridle.errors import UserError


class SkillInput(msgspec.Struct, frozen=True):
    """The input of Skill."""

    skill: str
    args: str = ""


class SkillTool:
    """Finds a skill by name and returns its text."""

    name = "Skill"
    description = (
        "Load one of the listed skills: its instructions follow the result, and you follow them. skill is the name as "
        "listed (plugin:name for a skill of a plugin), args is what it should work on. Call it before you start the "
        "work that it is for. Only the listed names exist; do not call a skill again whose instructions you already "
        "have."
    )
    input_type = SkillInput
    schema: ClassVar[JsonSchema] = input_schema({"skill": {"type": "string"}, "args": {"type": "string"}}, ["skill"])

    def __init__(
        self,
        skills: Skills,
        *,
        session_id: str,
        inline: Callable[[str], Awaitable[str]] | None = None,
        local_commands: Collection[str] = (),
        model_of: Callable[[Skill], Model | None] = lambda _skill: None,
    ) -> None:
        """Run inline commands with `inline`; `model_of` returns the model that a skill names."""
        self._skills = skills
        self._session_id = session_id
        self._inline = inline
        self._local_commands, self._model_of = local_commands, model_of

    def judge(self, arguments: Mapping[str, Any], policy: Policy) -> Verdict:
        """Decide about a call: rules hold for every name of a skill, and one that allows tools needs approval."""
        verdict, skill = decide(self.name, arguments, policy), self._skills.find(str(arguments.get("skill", "")))
        if skill is None or isinstance(verdict, Denied):
            return verdict
        by_name = decide(self.name, {"skill": skill.name}, policy)
        if isinstance(by_name, Denied) or not skill.allowed_tools:
            return by_name if isinstance(by_name, Denied | NeedsApproval) else verdict
        is_free = all(isinstance(each, Allowed) and each.reason == FREE for each in (verdict, by_name))
        return approval_of_skill(skill.name, policy) if is_free else verdict

    async def run(self, request: SkillInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        name = request.skill.strip().removeprefix("/")
        skill = self._skills.find(name)
        if skill is None or not skill.for_model:
            return rejected_call(self._rejection(name, skill))
        from bridle.agent.skills.expand import expand_skill  # late: most runs call no skill

        try:
            text = await expand_skill(
                skill, request.args, skills=self._skills, session_id=self._session_id, inline=self._inline
            )
        except UserError as error:
            return failed_result(str(error))
        return ToolResult(
            f"Launching skill: {name}", detail=_detail(name, skill, self._model_of(skill)), follow_up=(text,)
        )

    def _rejection(self, name: str, skill: Skill | None) -> str:
        if skill is not None:
            return f"Skill {name} cannot be used with Skill tool due to disable-model-invocation"
        if not name:
            return "Invalid skill format: "
        if name in self._local_commands:
            return f"{name} is a built-in command, not a skill: only the user can run /{name}."
        from bridle.agent.skills.slash_commands import EDITS
        from bridle.ground.suggest import nearest

        near = nearest(name, [skill.name for skill in self._skills.all() if skill.for_model], edits=EDITS)
        return f"Unknown skill: {name}" + (f". Did you mean {near}?" if near is not None else "")


def _detail(name: str, skill: Skill, model: Model | None) -> dict[str, object]:
    detail: dict[str, object] = {"success": True, "commandName": name}
    if skill.allowed_tools:
        detail["allowedTools"] = list(skill.allowed_tools)
    if model is not None:
        detail["model"] = model.shown
    return detail
