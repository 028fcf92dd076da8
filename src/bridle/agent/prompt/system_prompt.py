"""The system prompt: our own words, unless the caller brings others."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import msgspec

from bridle.agent.prompt import environment_info as contexts
from bridle.agent.prompt.environment_info import PromptContext
from bridle.agent.prompt.prompt_text import ANSWER, ANY_TOOL, SAFETY, TOOLS, WORK
from bridle.errors import DiskError, UsageError
from bridle.ground import disk

# A prompt that does not fit here would not leave room for the work.
FILE_LIMIT_BYTES = 4 * 1024 * 1024


class PromptOverrides(msgspec.Struct, frozen=True):
    """What the caller says about the prompt."""

    replaced_by: str | None = None
    """`--system-prompt`, `--system-prompt-file` or the handshake; an empty text means no prompt at all."""
    append: str | None = None
    excludes_dynamic: bool = False
    """Whether what differs from machine to machine goes to the first message, so that prompts can be cached."""


def build_system_prompt(
    wording: PromptOverrides, context: PromptContext | None, *, model: str, tools: Collection[str]
) -> list[str]:
    """The blocks of the system prompt, the part that is the same everywhere first."""
    if wording.replaced_by is not None:
        return [text for text in ("\n\n".join(filter(None, (wording.replaced_by, wording.append))),) if text]
    blocks = [_main(tools), wording.append or ""]
    if context is not None and not wording.excludes_dynamic:
        blocks.append("\n\n".join(f"# {name}\n{text}" for name, text in dynamic_sections(context, model=model).items()))
    return [text for text in blocks if text]


def dynamic_sections(context: PromptContext, *, model: str) -> dict[str, str]:
    """The sections that differ from machine to machine, by their names."""
    sections = {"Environment": contexts.environment_section(context.machine, model=model)}
    if context.git is not None:
        sections["gitStatus"] = context.git.text()
    return sections


def first_message_sections(wording: PromptOverrides, context: PromptContext, *, model: str) -> dict[str, str]:
    """The sections that go to the first message: none, unless the caller wants the prompt to be the same everywhere."""
    if wording.excludes_dynamic and wording.replaced_by is None:
        return dynamic_sections(context, model=model)
    return {}


def read_prompt_flag(flag: str, text: str | None, file: str | None, cwd: Path) -> str | None:
    """What a flag (`--system-prompt`, `--append-system-prompt`) or the one that names a file in its place says."""
    if text is not None and file is not None:
        raise UsageError(f"Error: Cannot use both {flag} and {flag}-file. Please use only one.")
    return text if file is None else read_file(f"{flag}-file", cwd / file)


def read_file(flag: str, path: Path) -> str:
    """The text of a file that a flag names."""
    try:
        return disk.read_bounded(path, FILE_LIMIT_BYTES).decode("utf-8-sig", "replace")
    except DiskError as error:
        what = "Append system prompt" if flag.startswith("--append") else "System prompt"
        if isinstance(error.__cause__, FileNotFoundError):
            raise UsageError(f"Error: {what} file not found: {path}") from error
        raise UsageError(f"Error: {what} file cannot be used: {error.message}", remedy=error.remedy) from error


def _main(tools: Collection[str]) -> str:
    """The part that is the same everywhere, with advice on those tools that are there."""
    advice = [text for names, text in TOOLS if all(name in tools for name in names)]
    parts = [WORK]
    if tools:
        parts.append("# Tools\n\n" + "\n".join(f"- {text}" for text in [*ANY_TOOL, *advice]))
    return "\n\n".join([*parts, SAFETY, ANSWER])
