"""Expands a prompt that starts with `/name` to the text of a skill."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from typing import TypeAlias

import msgspec

from bridle.agent.skills.catalogue import Skills
from bridle.agent.skills.expand import RunInline, expand_skill
from bridle.agent.skills.skill_files import Skill
from bridle.errors import UserError
from bridle.ground.suggest import nearest

# As measured with Claude Code: two letters may be wrong.
EDITS = 2

_CALL = r"(?s)/([A-Za-z0-9:_-]+)(?:\s+(.*))?"


class ExpandedPrompt(msgspec.Struct, frozen=True):
    """The texts of a skill, which are sent to the model instead of the prompt, in one message."""

    skill: Skill
    texts: tuple[str, ...]


class LocalAnswer(msgspec.Struct, frozen=True):
    """The answer to a prompt that is not sent to the model."""

    text: str
    is_error: bool = False
    """Whether the command exists but failed."""


Meaning: TypeAlias = ExpandedPrompt | LocalAnswer | None


async def expand_slash_command(
    prompt: str,
    skills: Skills,
    *,
    session_id: str,
    inline: RunInline | None = None,
    others: Collection[str] = (),
) -> Meaning:
    """Expand a prompt; return None for one that is sent unchanged.

    `others` are commands that are handled elsewhere; they are suggested for mistyped names.
    """
    match = re.fullmatch(_CALL, prompt)
    if match is None or (name := match[1]) in others:
        return None
    arguments = (match[2] or "").strip()
    skill = skills.find(name)
    if skill is None:
        # "/tmp is full" is about a directory.
        return None if os.path.exists(f"/{name}") else LocalAnswer(_unknown(name, skills, others))
    if not skill.for_user:
        return LocalAnswer(
            f"/{name} can only be called by the model. Describe what you need, and it can use the skill."
        )
    try:
        body = await expand_skill(skill, arguments, skills=skills, session_id=session_id, inline=inline)
    except UserError as error:
        return LocalAnswer(str(error), is_error=True)
    return ExpandedPrompt(skill, (called(name, arguments), body))


def _unknown(name: str, skills: Skills, others: Collection[str]) -> str:
    near = nearest(name, [*skills.slash_commands(), *others], edits=EDITS)
    return f"Unknown command: /{name}" + (f". Did you mean /{near}?" if near is not None else "")


def called(name: str, arguments: str) -> str:
    """Return how the transcript and the model see a slash command."""
    head = f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>\n"
    return f"{head}<command-args>{arguments}</command-args>\n" if arguments else head
