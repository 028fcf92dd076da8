"""The text of a skill as the model reads it: arguments put in, commands run if somebody runs them, members joined."""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from bridle.agent.skills import frontmatter, skill_files
from bridle.agent.skills.catalogue import Skills
from bridle.agent.skills.skill_document import Skill
from bridle.errors import UserError

RunInline: TypeAlias = Callable[[str], Awaitable[str]]
"""Runs a command that stands in a skill as !`command`, if it may run; UserError says why not."""

# What a skillset may come to; more would fill the model's memory with one call.
SKILLSET_LIMIT_CHARACTERS = 1024 * 1024

_INLINE = r"!`([^`\n]+)`"


async def expand_skill(
    skill: Skill, arguments: str, *, skills: Skills, session_id: str, inline: RunInline | None
) -> str:
    """The text of a skill; UserError when its file is gone or one of its commands fails.

    Without `inline` its commands stay in the text as they are.
    """
    text = await _own_text(skill, arguments.strip(), session_id, inline)
    if not skill.members:
        return text
    parts = [text.rstrip("\n") or skill.description]
    for name in skill.members:
        parts.append(await _member(name, skills, session_id, inline))
        if sum(map(len, parts)) > SKILLSET_LIMIT_CHARACTERS:
            raise UserError(f"the skills of skillset {skill.name} are too long together", remedy="Make two of it.")
    return "\n\n".join(parts) + "\n"


async def _member(name: str, skills: Skills, session_id: str, inline: RunInline | None) -> str:
    member = skills.find(name)
    if member is None or member.members:
        return f"# Skill {name}\n\n(There is no skill of this name here.)"
    text = await _own_text(member, "", session_id, inline)
    return f"# Skill {name}\n\n{text.strip()}"


async def _own_text(skill: Skill, arguments: str, session_id: str, inline: RunInline | None) -> str:
    text = skill_files.read_text(skill.path)
    if text is None:
        raise UserError(
            f"{skill.path} cannot be read: it is gone, no file, or larger than {skill_files.TEXT_LIMIT_BYTES} bytes",
            remedy="Check the file.",
        )
    body = frontmatter.parse_document(text).body if skill.path.suffix == ".md" else ""
    filled = fill_arguments(body, arguments, skill.argument_names, _places(skill, session_id))
    if inline is not None:
        filled = await _run_inline(filled, inline)
    return f"Base directory for this skill: {skill.folder}\n\n{filled}" if skill.folder is not None else filled


def fill_arguments(body: str, arguments: str, names: tuple[str, ...], places: dict[str, str]) -> str:
    """Put arguments in: all of them, one by its number from 0, one by its name; if none is asked for, at the end.

    A backslash before the dollar sign keeps it as it is. `places` are names in braces, as ${CLAUDE_SKILL_DIR}. Pure.
    """
    words = _words(arguments)
    named = {name: words[index] if index < len(words) else "" for index, name in enumerate(names)}
    braces = "|".join(map(re.escape, places))
    bare = "|".join(map(re.escape, sorted(named, key=len, reverse=True)))
    pattern = rf"(\\?)\$(?:ARGUMENTS\[(\d+)\]|(ARGUMENTS)|(\d+)(?!\w)|\{{({braces})\}}|({bare or '(?!)'})(?![\w\[]))"
    asked = False

    def put(found: re.Match[str]) -> str:
        nonlocal asked
        escape, index, everything, number, place, name = found.groups()
        if escape:
            return found[0][1:]
        if place is not None:
            return places[place]
        asked = True
        if everything is not None:
            return arguments
        if name is not None:
            return named[name]
        # A number that no list can have is not asked for in earnest.
        position = int(index or number) if len(index or number) < 6 else len(words)
        return words[position] if position < len(words) else ""

    filled = re.sub(pattern, put, body)
    return filled if asked or not arguments else f"{filled}\n\nARGUMENTS: {arguments}"


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # a quote that is not closed: people write "it's"
        return arguments.split()


def _places(skill: Skill, session_id: str) -> dict[str, str]:
    places: dict[str, str | Path | None] = {
        "CLAUDE_SESSION_ID": session_id,
        "CLAUDE_SKILL_DIR": skill.folder,
        "CLAUDE_PLUGIN_ROOT": skill.plugin,
    }
    return {name: str(value) for name, value in places.items() if value is not None}


async def _run_inline(text: str, inline: RunInline) -> str:
    parts: list[str] = []
    end = 0
    for found in re.finditer(_INLINE, text):
        parts += [text[end : found.start()], await inline(found[1])]
        end = found.end()
    return "".join([*parts, text[end:]])
