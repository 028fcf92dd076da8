"""The context of a session for the model: instructions, date, machine and git status."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from bridle.agent.prompt import git_status, instructions
from bridle.agent.prompt.git_status import GitStatus
from bridle.agent.prompt.instructions import Instructions, InstructionScope
from bridle.ground.git_folder import repository_top

# Set it to read AGENTS.md in directories without CLAUDE.md; Claude Code does not read that file.
AGENTS_VARIABLE = "BRIDLE_AGENTS_MD"

_ALL_SOURCES = frozenset({"user", "project", "local"})
_OFF = ("", "0", "false", "no")


class ContextScope(msgspec.Struct, frozen=True):
    """Which context to gather."""

    cwd: Path
    config_folder: Path
    environment: Mapping[str, str]
    sources: frozenset[str] = _ALL_SOURCES
    """Which settings are used (`--setting-sources`); without any there are no instructions either."""
    reads_git: bool = True
    reads_instructions: bool = True
    """Whether CLAUDE.md is read; not with `--bare`."""
    is_hidden: Callable[[str], bool] = lambda _path: False
    """Whether a rule denies reading a file."""


class Machine(msgspec.Struct, frozen=True):
    """The machine and the working directory."""

    cwd: Path
    is_repository: bool
    platform: str
    release: str
    shell: str


class PromptContext(msgspec.Struct, frozen=True):
    """The context when the session started."""

    machine: Machine
    instructions: tuple[Instructions, ...] = ()
    git: GitStatus | None = None


async def gather_context(scope: ContextScope) -> PromptContext:
    """Gather the context; files and git are read concurrently, and errors are ignored."""
    top = repository_top(scope.cwd)
    files, git = await asyncio.gather(_instructions(instruction_scope(scope, top)), _git(scope, top))
    return PromptContext(describe_machine(scope, is_repository=top is not None), files, git)


def instruction_scope(scope: ContextScope, top: Path | None) -> InstructionScope:
    """Return which instructions are read; `top` is the repository."""
    return InstructionScope(
        cwd=scope.cwd,
        config_folder=scope.config_folder,
        home=Path(scope.environment.get("HOME") or scope.config_folder.parent),
        sources=scope.sources if scope.reads_instructions else frozenset(),
        repository=top,
        agents=scope.environment.get(AGENTS_VARIABLE, "").lower() not in _OFF,
        is_hidden=scope.is_hidden,
    )


def describe_machine(scope: ContextScope, *, is_repository: bool) -> Machine:
    system = os.uname()
    return Machine(
        cwd=scope.cwd,
        is_repository=is_repository,
        platform=sys.platform,
        release=f"{system.sysname} {system.release}",
        shell=os.path.basename(scope.environment.get("SHELL") or "") or "unknown",
    )


def opening_reminder(context: PromptContext, *, date: str, sections: Mapping[str, str] | None = None) -> str:
    """Return the reminder before the first user message: instructions, more sections, the date."""
    parts: dict[str, str] = {}
    if context.instructions:
        parts["claudeMd"] = _format_instructions(context.instructions)
    parts |= {name: text for name, text in (sections or {}).items() if text}
    parts["currentDate"] = f"Today's date is {date}."
    body = "\n".join(f"# {name}\n{text}" for name, text in parts.items())
    return (
        "<system-reminder>\nContext for the following work:\n"
        f"{body}\n\nUse what is relevant to the task and ignore the rest; do not comment on this text.\n"
        "</system-reminder>\n\n"
    )


def environment_section(machine: Machine, *, model: str | None) -> str:
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


def _format_instructions(files: tuple[Instructions, ...]) -> str:
    head = (
        "The user and the project left these instructions for you. Follow them exactly; they take precedence over your"
        " default behavior."
    )
    return "\n\n".join([head, *(f"Contents of {file.path} ({file.kind}):\n\n{file.text}" for file in files)])


async def _instructions(scope: InstructionScope) -> tuple[Instructions, ...]:
    if not scope.sources:
        return ()
    return await asyncio.to_thread(instructions.read_instructions, scope)


async def _git(scope: ContextScope, top: Path | None) -> GitStatus | None:
    if top is None or not scope.reads_git:
        return None
    return await git_status.read_git_status(scope.cwd, top, scope.environment)
