"""A prompt that begins with `/name`: the skill it calls, or what to answer if there is none."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from typing import TypeAlias

import msgspec

from bridle.agent.skills.catalogue import Skills
from bridle.agent.skills.expand import Inline, unfold
from bridle.agent.skills.skill_document import Skill
from bridle.errors import UserError

# Names that differ by more than this many letters are no slip of the finger.
SLIP_LETTERS = 2

_CALL = r"(?s)/([A-Za-z0-9:_-]+)(?:\s+(.*))?"


class Expanded(msgspec.Struct, frozen=True):
    """The prompt calls a skill: these texts go to the model in its place, in one message."""

    skill: Skill
    texts: tuple[str, ...]


class Local(msgspec.Struct, frozen=True):
    """The prompt is answered here; the model is not asked."""

    text: str
    is_error: bool = False
    """Whether the command is there but could not be used."""


Meaning: TypeAlias = Expanded | Local | None


async def expand(
    prompt: str,
    skills: Skills,
    *,
    session_id: str,
    inline: Inline | None = None,
    others: Collection[str] = (),
) -> Meaning:
    """What a prompt means; None for one that is to be sent as it is.

    `others` are commands that are answered elsewhere, named here for those who mistype them.
    """
    found = re.fullmatch(_CALL, prompt)
    if found is None or (name := found[1]) in others:
        return None
    arguments = (found[2] or "").strip()
    skill = skills.find(name)
    if skill is None:
        # "/tmp is full" speaks of a folder.
        return None if os.path.exists(f"/{name}") else Local(_unknown(name, skills, others))
    if not skill.for_user:
        return Local(f"/{name} is for the model alone. Ask for what you need, and it can use the skill.")
    try:
        body = await unfold(skill, arguments, skills=skills, session_id=session_id, inline=inline)
    except UserError as error:
        return Local(str(error), is_error=True)
    return Expanded(skill, (_called(name, arguments), body))


def closest(name: str, known: Iterable[str]) -> str | None:
    """The name that somebody may have meant. Pure."""
    measured = [(_distance(name.lower(), other.lower()), other) for other in known]
    near = [pair for pair in measured if pair[0] <= SLIP_LETTERS and pair[0] < len(name)]
    return min(near, key=lambda pair: pair[0])[1] if near else None


def _unknown(name: str, skills: Skills, others: Collection[str]) -> str:
    meant = closest(name, [*skills.slash_commands(), *others])
    return f"Unknown command: /{name}" + (f". Did you mean /{meant}?" if meant else "")


def _called(name: str, arguments: str) -> str:
    head = f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>\n"
    return f"{head}<command-args>{arguments}</command-args>\n" if arguments else head


def _distance(one: str, other: str) -> int:
    """How many letters to change, add or drop; anything above the slip counts as one more than it."""
    if abs(len(one) - len(other)) > SLIP_LETTERS:
        return SLIP_LETTERS + 1
    row = list(range(len(other) + 1))
    for index, letter in enumerate(one, start=1):
        above, row[0] = row[0], index
        for column, wanted in enumerate(other, start=1):
            above, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, above + (letter != wanted))
    return row[-1]
