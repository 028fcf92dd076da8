"""The prompt of a run: the system prompt, and the reminder before the first user message."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.agent.assemble.run_inputs import RunInputs
from bridle.agent.command_line.options import Options
from bridle.agent.conversation.model_setup import ModelSetup, RequestHead
from bridle.agent.permissions.rules.file_access import is_hidden
from bridle.agent.prompt.environment_info import ContextScope, gather_context, instruction_scope, opening_reminder
from bridle.agent.prompt.system_prompt import (
    PromptOverrides,
    build_system_prompt,
    first_message_sections,
    read_prompt_flag,
)
from bridle.agent.sessions.api_messages import text_block
from bridle.agent.settings.load_settings import SOURCES
from bridle.agent.tools.files.known_files import FileMemory
from bridle.ground import clock
from bridle.ground.git_folder import repository_top

if TYPE_CHECKING:
    from bridle.agent.prompt.nested_instructions import NestedInstructions


class Prompt:
    """The prompt of a run; the host may change it before the first request."""

    def __init__(self, inputs: RunInputs, setup: ModelSetup) -> None:
        self._inputs, self._setup = inputs, setup
        self._overrides = _overrides(inputs.options, inputs.cwd)

    def initialize(self, system_prompt: str | None, append: str | None) -> None:
        """Apply the prompts that the host sent."""
        if system_prompt is not None:
            self._overrides = msgspec.structs.replace(self._overrides, replaced_by=system_prompt)
        if append is not None:
            self._overrides = msgspec.structs.replace(self._overrides, append=append)

    async def head(self, tools: Collection[str]) -> RequestHead:
        """Read instructions and git status, and return the blocks that every request begins with."""
        context = await gather_context(context_scope(self._inputs, self._setup))
        model = self._setup.model.id
        date = clock.now().astimezone().date().isoformat()
        sections = first_message_sections(self._overrides, context, model=model)
        return RequestHead(
            system=[
                text_block(text) for text in build_system_prompt(self._overrides, context, model=model, tools=tools)
            ],
            reminder=[text_block(opening_reminder(context, date=date, sections=sections))],
            instructions=context.instructions,
        )


def nested_instructions(inputs: RunInputs, setup: ModelSetup, memory: FileMemory) -> Callable[[], str | None]:
    """Return the function that reads the instructions for files that the model has read since the last call."""
    nested: NestedInstructions | None = None

    def take() -> str | None:
        nonlocal nested
        paths = memory.take_read()
        if not paths:
            return None
        if nested is None:
            from bridle.agent.prompt.nested_instructions import NestedInstructions  # late: after the first file

            nested = NestedInstructions(instruction_scope(context_scope(inputs, setup), repository_top(inputs.cwd)))
        return nested.text_for(paths)

    return take


def _overrides(options: Options, cwd: Path) -> PromptOverrides:
    replaced = read_prompt_flag("--system-prompt", options.system_prompt, options.system_prompt_file, cwd)
    append = read_prompt_flag(
        "--append-system-prompt", options.append_system_prompt, options.append_system_prompt_file, cwd
    )
    return PromptOverrides(replaced, append, options.excludes_dynamic)


def context_scope(inputs: RunInputs, setup: ModelSetup) -> ContextScope:
    """Return what the prompt is gathered from."""
    options = inputs.options
    return ContextScope(
        cwd=inputs.cwd,
        config_folder=inputs.config_folder,
        environment=inputs.environment,
        sources=frozenset(SOURCES if options.setting_sources is None else options.setting_sources),
        reads_instructions=not (options.is_bare or options.is_safe),
        is_hidden=lambda path: is_hidden(path, setup.policy),
    )
