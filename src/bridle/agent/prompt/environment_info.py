"""What the model is told about where it works: instructions, the day, the machine, the state of the repository."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from bridle.agent.prompt import git_status, instructions
from bridle.agent.prompt.git_status import GitStatus
from bridle.agent.prompt.instructions import Instructions, InstructionScope
from bridle.ground.git_folder import repository_top

# Set by those who want AGENTS.md read where a folder has no CLAUDE.md; other programs leave that file alone.
AGENTS_VARIABLE = "BRIDLE_AGENTS_MD"

_ALL_SOURCES = frozenset({"user", "project", "local"})
_OFF = ("", "0", "false", "no")


class ContextScope(msgspec.Struct, frozen=True):
    """What of the surroundings is wanted."""

    cwd: Path
    config_folder: Path
    environment: Mapping[str, str]
    sources: frozenset[str] = _ALL_SOURCES
    """Which settings count (`--setting-sources`); without any there are no instructions either."""
    reads_git: bool = True
    reads_instructions: bool = True
    """Whether CLAUDE.md counts at all; `--bare` does without."""


class Machine(msgspec.Struct, frozen=True):
    """The machine and the folder."""

    cwd: Path
    is_repository: bool
    platform: str
    release: str
    shell: str


class PromptContext(msgspec.Struct, frozen=True):
    """All of it, as it was when the session began."""

    machine: Machine
    instructions: tuple[Instructions, ...] = ()
    git: GitStatus | None = None


async def gather_context(scope: ContextScope) -> PromptContext:
    """Look around; files and git are read side by side, and none of it can fail."""
    top = repository_top(scope.cwd)
    reach = InstructionScope(
        cwd=scope.cwd,
        config_folder=scope.config_folder,
        home=Path(scope.environment.get("HOME") or scope.config_folder.parent),
        sources=scope.sources if scope.reads_instructions else frozenset(),
        repository=top,
        agents=scope.environment.get(AGENTS_VARIABLE, "").lower() not in _OFF,
    )
    found, git = await asyncio.gather(_instructions(reach), _git(scope, top))
    return PromptContext(describe_machine(scope, is_repository=top is not None), found, git)


def describe_machine(scope: ContextScope, *, is_repository: bool) -> Machine:
    """The facts that need no looking."""
    system = os.uname()
    return Machine(
        cwd=scope.cwd,
        is_repository=is_repository,
        platform=sys.platform,
        release=f"{system.sysname} {system.release}",
        shell=os.path.basename(scope.environment.get("SHELL") or "") or "unknown",
    )


def opening_reminder(context: PromptContext, *, date: str, sections: Mapping[str, str] | None = None) -> str:
    """The text that comes before the first words of the user: instructions, more sections, the date."""
    parts: dict[str, str] = {}
    if context.instructions:
        parts["claudeMd"] = _told(context.instructions)
    parts |= {name: text for name, text in (sections or {}).items() if text}
    parts["currentDate"] = f"Today's date is {date}."
    body = "\n".join(f"# {name}\n{text}" for name, text in parts.items())
    return (
        "<system-reminder>\nBackground for the work that follows:\n"
        f"{body}\n\nUse what bears on the task and leave the rest aside; do not comment on this text.\n"
        "</system-reminder>\n\n"
    )


def environment_section(machine: Machine, *, model: str | None) -> str:
    """The machine, in words."""
    lines = [
        f" - Working directory: {machine.cwd}",
        f" - Is a git repository: {'true' if machine.is_repository else 'false'}",
        f" - Platform: {machine.platform}",
        f" - OS version: {machine.release}",
        f" - Shell: {machine.shell}",
    ]
    if model is not None:
        lines.append(f" - Model: {model}")
    return "\n".join(lines)


def _told(files: tuple[Instructions, ...]) -> str:
    head = (
        "People left these instructions for whoever works here. Follow them exactly; where they differ from your usual"
        " way of working, they win."
    )
    return "\n\n".join([head, *(f"Contents of {file.path} ({file.kind}):\n\n{file.text}" for file in files)])


async def _instructions(reach: InstructionScope) -> tuple[Instructions, ...]:
    if not reach.sources:
        return ()
    return await asyncio.to_thread(instructions.read_instructions, reach)


async def _git(scope: ContextScope, top: Path | None) -> GitStatus | None:
    if top is None or not scope.reads_git:
        return None
    return await git_status.read_git_status(scope.cwd, top, scope.environment)
