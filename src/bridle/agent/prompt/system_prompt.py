"""Builds the system prompt, unless the caller replaces it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import msgspec

from bridle.agent.prompt import environment_info as contexts
from bridle.agent.prompt.environment_info import PromptContext
from bridle.agent.prompt.prompt_text import ANSWER, ANY_TOOL, SAFETY, TOOLS, WORK
from bridle.errors import DiskError, UsageError
from bridle.ground import disk

# A larger prompt would leave no room for the work.
FILE_LIMIT_BYTES = 4 * 1024 * 1024


class PromptOverrides(msgspec.Struct, frozen=True):
    """The changes of the caller to the prompt."""

    replaced_by: str | None = None
    """From `--system-prompt`, `--system-prompt-file` or the handshake; an empty text means no prompt."""
    append: str | None = None
    excludes_dynamic: bool = False
    """Whether machine-specific sections go to the first message, so that the prompt can be cached."""


def build_system_prompt(
    overrides: PromptOverrides, context: PromptContext | None, *, model: str, tools: Collection[str]
) -> list[str]:
    """Return the blocks of the system prompt, the machine-independent one first."""
    if overrides.replaced_by is not None:
        return [text for text in ("\n\n".join(filter(None, (overrides.replaced_by, overrides.append))),) if text]
    blocks = [_main(tools), overrides.append or ""]
    if context is not None and not overrides.excludes_dynamic:
        blocks.append("\n\n".join(f"# {name}\n{text}" for name, text in dynamic_sections(context, model=model).items()))
    return [text for text in blocks if text]


def dynamic_sections(context: PromptContext, *, model: str) -> dict[str, str]:
    """Return the machine-specific sections by name."""
    sections = {"Environment": contexts.environment_section(context.machine, model=model)}
    if context.git is not None:
        sections["gitStatus"] = context.git.text()
    return sections


def first_message_sections(overrides: PromptOverrides, context: PromptContext, *, model: str) -> dict[str, str]:
    """Return the sections of the first message: the dynamic ones if they are not in the prompt."""
    if overrides.excludes_dynamic and overrides.replaced_by is None:
        return dynamic_sections(context, model=model)
    return {}


def read_prompt_flag(flag: str, text: str | None, file: str | None, cwd: Path) -> str | None:
    """Return the text of `--system-prompt` or `--append-system-prompt`, or of the file that `<flag>-file` names."""
    if text is not None and file is not None:
        raise UsageError(f"Error: Cannot use both {flag} and {flag}-file. Please use only one.")
    return text if file is None else read_file(f"{flag}-file", cwd / file)


def read_file(flag: str, path: Path) -> str:
    try:
        return disk.read_bounded(path, FILE_LIMIT_BYTES).decode("utf-8-sig", "replace")
    except DiskError as error:
        name = "Append system prompt" if flag.startswith("--append") else "System prompt"
        if isinstance(error.__cause__, FileNotFoundError):
            raise UsageError(f"Error: {name} file not found: {path}") from error
        raise UsageError(f"Error: {name} file cannot be used: {error.message}", remedy=error.remedy) from error


def _main(tools: Collection[str]) -> str:
    """Return the machine-independent part, with advice for the available tools."""
    advice = [text for names, text in TOOLS if all(name in tools for name in names)]
    parts = [WORK]
    if tools:
        parts.append("# Tools\n\n" + "\n".join(f"- {text}" for text in [*ANY_TOOL, *advice]))
    return "\n\n".join([*parts, SAFETY, ANSWER])
