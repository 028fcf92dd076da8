"""Expands the text of a skill: fills in arguments, runs inline commands, joins the members of a skillset."""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from bridle.agent.skills import frontmatter, skill_files
from bridle.agent.skills.catalogue import Skills
from bridle.agent.skills.skill_files import Skill
from bridle.errors import UserError

RunInline: TypeAlias = Callable[[str], Awaitable[str]]
"""Runs a !`command` of a skill and returns its output; raises UserError if it is not permitted."""

# More would fill the context window with one call.
SKILLSET_LIMIT_CHARACTERS = 1024 * 1024

_INLINE = r"!`([^`\n]+)`"


async def expand_skill(
    skill: Skill, arguments: str, *, skills: Skills, session_id: str, inline: RunInline | None
) -> str:
    """Return the text of a skill; raise UserError if its file is missing or one of its commands fails.

    Without `inline`, commands are left in the text.
    """
    if skill.fault is not None:
        raise UserError(f"{skill.path}: {skill.fault}", remedy="Correct the file.")
    text = await _own_text(skill, arguments.strip(), session_id, inline)
    if not skill.members and not skill.on_demand:
        return text
    parts = [text.rstrip("\n") or skill.description]
    for name in skill.members:
        parts.append(await _member(name, skills, session_id, inline))
        if sum(map(len, parts)) > SKILLSET_LIMIT_CHARACTERS:
            raise UserError(f"skillset {skill.name} is too long", remedy="Split it into two skillsets.")
    if skill.on_demand:
        lines = (_on_demand(name, use, skills) for name, use in skill.on_demand)
        parts.append("Further skills, to be loaded with the Skill tool when they are needed:\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _on_demand(name: str, use: str, skills: Skills) -> str:
    described = f"- {name}: {use}" if use else f"- {name}"
    return described if skills.find(name) is not None else f"{described} (There is no skill of this name.)"


async def _member(name: str, skills: Skills, session_id: str, inline: RunInline | None) -> str:
    member = skills.find(name)
    if member is None or member.kind == "skillset":
        return f"# Skill {name}\n\n(There is no skill of this name.)"
    text = await _own_text(member, "", session_id, inline)
    return f"# Skill {name}\n\n{text.strip()}"


async def _own_text(skill: Skill, arguments: str, session_id: str, inline: RunInline | None) -> str:
    text = skill_files.read_text(skill.path)
    if text is None:
        raise UserError(
            f"cannot read {skill.path}: missing, not a file, or larger than {skill_files.TEXT_LIMIT_BYTES} bytes",
            remedy="Check the file.",
        )
    if skill.path.suffix != ".md":
        # Of a skillset that names skills, their texts are the content; any other document is its own.
        return "" if skill.members or skill.on_demand else text
    body = frontmatter.parse_document(text).body
    filled = fill_arguments(body, arguments, skill.argument_names, _variables(skill, session_id))
    if inline is not None:
        filled = await _run_inline(filled, inline)
    return f"Base directory for this skill: {skill.folder}\n\n{filled}" if skill.folder is not None else filled


def fill_arguments(body: str, arguments: str, names: tuple[str, ...], variables: dict[str, str]) -> str:
    """Fill in arguments: all of them, by number from 0, or by name; append them if the text uses none.

    A backslash escapes the dollar sign. `variables` are names in braces, such as ${CLAUDE_SKILL_DIR}. Pure.
    """
    words = _words(arguments)
    named = {name: words[index] if index < len(words) else "" for index, name in enumerate(names)}
    braces = "|".join(map(re.escape, variables))
    bare = "|".join(map(re.escape, sorted(named, key=len, reverse=True)))
    pattern = rf"(\\?)\$(?:ARGUMENTS\[(\d+)\]|(ARGUMENTS)|(\d+)(?!\w)|\{{({braces})\}}|({bare or '(?!)'})(?![\w\[]))"
    uses_arguments = False

    def put(match: re.Match[str]) -> str:
        nonlocal uses_arguments
        escape, index, everything, number, variable, name = match.groups()
        if escape:
            return match[0][1:]
        if variable is not None:
            return variables[variable]
        uses_arguments = True
        if everything is not None:
            return arguments
        if name is not None:
            return named[name]
        # A longer number is out of range for any list.
        position = int(index or number) if len(index or number) < 6 else len(words)
        return words[position] if position < len(words) else ""

    filled = re.sub(pattern, put, body)
    return filled if uses_arguments or not arguments else f"{filled}\n\nARGUMENTS: {arguments}"


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # an unclosed quote, as in "it's"
        return arguments.split()


def _variables(skill: Skill, session_id: str) -> dict[str, str]:
    variables: dict[str, str | Path | None] = {
        "CLAUDE_SESSION_ID": session_id,
        "CLAUDE_SKILL_DIR": skill.folder,
        "CLAUDE_PLUGIN_ROOT": skill.plugin,
    }
    return {name: str(value) for name, value in variables.items() if value is not None}


async def _run_inline(text: str, inline: RunInline) -> str:
    parts: list[str] = []
    end = 0
    for match in re.finditer(_INLINE, text):
        parts += [text[end : match.start()], await inline(match[1])]
        end = match.end()
    return "".join([*parts, text[end:]])
