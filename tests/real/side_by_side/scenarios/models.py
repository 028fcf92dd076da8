"""Which model is asked, and how much it may think."""

from __future__ import annotations

from tests.real.side_by_side.scenario import Scenario, prompt, says

FINE = says("Fine.", times="forever")


def asked(name: str, *more: str, **environment: str | None) -> Scenario:
    return Scenario(name, (prompt("go", *more, **environment),), (FINE,))


SCENARIOS = (
    asked("the model haiku", "--model", "haiku"),
    asked("the model sonnet", "--model", "sonnet"),
    asked("the model opus", "--model", "opus"),
    asked("a model by its full name", "--model", "claude-sonnet-4-5-20250929"),
    asked("a model that nobody knows", "--model", "custom-model-x"),
    asked("a model with a large window", "--model", "sonnet[1m]"),
    asked("no large window", CLAUDE_CODE_DISABLE_1M_CONTEXT="1"),
    asked("the model of the environment", ANTHROPIC_MODEL="sonnet"),
    asked("an alias that the environment changes", "--model", "haiku", ANTHROPIC_DEFAULT_HAIKU_MODEL="claude-haiku-9"),
    asked("thoughts of a length on haiku", "--model", "haiku", MAX_THINKING_TOKENS="8192"),
    asked("thoughts of a length on sonnet", "--model", "sonnet", MAX_THINKING_TOKENS="16384"),
    asked("no thoughts", "--model", "haiku", MAX_THINKING_TOKENS="0"),
    asked("no thoughts on the default model", MAX_THINKING_TOKENS="0"),
    asked("thoughts of a length by a flag", "--model", "haiku", "--max-thinking-tokens", "5000"),
    asked("thoughts forbidden by a flag", "--model", "haiku", "--thinking", "disabled"),
    asked("thoughts of the model's choice by a flag", "--model", "sonnet", "--thinking", "adaptive"),
    asked("haiku in plan mode", "--model", "haiku", "--permission-mode", "plan"),
    asked("the full name of haiku in plan mode", "--model", "claude-haiku-4-5-20251001", "--permission-mode", "plan"),
    asked("opusplan", "--model", "opusplan"),
    asked("opusplan in plan mode", "--model", "opusplan", "--permission-mode", "plan"),
    asked("little effort", "--effort", "low"),
    asked("an answer of a length", "--model", "haiku", CLAUDE_CODE_MAX_OUTPUT_TOKENS="5000"),
)
