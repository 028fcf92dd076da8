"""The system prompt: ours, or the caller's."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.agent.prompt.environment_info import Machine, PromptContext
from bridle.agent.prompt.git_status import GitStatus
from bridle.agent.prompt.prompt_text import TOOLS
from bridle.agent.prompt.system_prompt import (
    PromptOverrides,
    build_system_prompt,
    first_message_sections,
    read_prompt_flag,
)
from bridle.errors import UsageError

CONTEXT = PromptContext(
    Machine(Path("/work"), True, "linux", "Linux 6", "bash"), git=GitStatus("trunk", "main", "", "")
)
ALL = {name for names, _ in TOOLS for name in names}
# With the listing of tools the prompt is paid for in every request.
LIMIT_BYTES = 8 * 1024


def blocks(wording: PromptOverrides = PromptOverrides(), tools: set[str] = ALL) -> list[str]:  # noqa: B008 -- both are constants
    return build_system_prompt(wording, CONTEXT, model="claude-x", tools=tools)


def test_what_is_the_same_everywhere_comes_first_and_is_short() -> None:
    main, dynamic = blocks()
    assert len(main.encode()) < LIMIT_BYTES
    assert "/work" not in main
    assert "Working directory: /work" in dynamic
    assert "Current branch: trunk" in dynamic
    assert "claude-x" in dynamic


def test_only_tools_that_are_there_are_talked_about() -> None:
    main = blocks(tools={"Read"})[0]
    assert not any(text in main for _, text in TOOLS)
    assert "# Tools" in main
    assert "# Tools" not in blocks(tools=set())[0]
    assert all(text in blocks()[0] for _, text in TOOLS)


def test_a_prompt_of_the_caller_takes_the_place_of_ours_with_all_that_belongs_to_it() -> None:
    assert blocks(PromptOverrides(replaced_by="Mine.")) == ["Mine."]
    assert blocks(PromptOverrides(replaced_by="Mine.", append="And this.")) == ["Mine.\n\nAnd this."]


def test_an_empty_prompt_of_the_caller_is_no_prompt() -> None:
    assert blocks(PromptOverrides(replaced_by="")) == []
    assert blocks(PromptOverrides(replaced_by="", append="Only this.")) == ["Only this."]


def test_the_appended_text_is_between_the_prompt_and_the_environment() -> None:
    ours, appended, facts = blocks(PromptOverrides(append="Speak French."))
    assert (ours, appended) == (blocks()[0], "Speak French.")
    assert facts.startswith("# Environment")


def test_facts_can_go_to_the_first_message_instead() -> None:
    wording = PromptOverrides(excludes_dynamic=True)
    assert blocks(wording) == [blocks()[0]]
    sections = first_message_sections(wording, CONTEXT, model="claude-x")
    assert list(sections) == ["Environment", "gitStatus"]
    assert first_message_sections(PromptOverrides(), CONTEXT, model="claude-x") == {}
    assert first_message_sections(PromptOverrides(replaced_by="Mine.", excludes_dynamic=True), CONTEXT, model="x") == {}


def test_a_prompt_comes_from_a_file_or_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_bytes(b"\xef\xbb\xbfMine.\n")
    assert read_prompt_flag("--system-prompt", None, "prompt.md", tmp_path) == "Mine.\n"
    assert read_prompt_flag("--system-prompt", None, str(tmp_path / "prompt.md"), Path("/")) == "Mine.\n"
    assert read_prompt_flag("--system-prompt", "", None, tmp_path) == ""
    assert read_prompt_flag("--system-prompt", None, None, tmp_path) is None


@pytest.mark.parametrize(
    ("flag", "text", "file", "message"),
    [
        ("--system-prompt", None, "missing", "Error: System prompt file not found: {folder}/missing"),
        ("--append-system-prompt", None, "missing", "Error: Append system prompt file not found: {folder}/missing"),
        ("--system-prompt", None, ".", "Error: System prompt file cannot be used: {folder} is not a regular file"),
        (
            "--append-system-prompt",
            "a",
            "b",
            "Error: Cannot use both --append-system-prompt and --append-system-prompt-file. Please use only one.",
        ),
    ],
)
def test_a_prompt_that_cannot_be_read_is_an_error(
    flag: str, text: str | None, file: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        read_prompt_flag(flag, text, file, tmp_path)
    assert refused.value.message == message.format(folder=tmp_path)
