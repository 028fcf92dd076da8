"""How long commands may run and how much of their output is shown, from the environment. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

# Long enough for most builds and tests, short enough that a command which waits for input is noticed.
DEFAULT_TIMEOUT_SECONDS = 120.0
MAX_TIMEOUT_SECONDS = 600.0

# As much as a model can use at once; the maximum keeps one call from filling its context.
OUTPUT_CHARACTERS = 30_000
MAX_OUTPUT_CHARACTERS = 150_000

# The characters of the output of a background task that the model reads.
TASK_OUTPUT_CHARACTERS = 32_000
MAX_TASK_OUTPUT_CHARACTERS = 160_000

_YES = frozenset({"1", "true", "yes", "on"})


class CommandLimits(msgspec.Struct, frozen=True):
    """The limits of one session's commands."""

    default_timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    max_timeout_seconds: float = MAX_TIMEOUT_SECONDS
    output_characters: int = OUTPUT_CHARACTERS
    task_output_characters: int = TASK_OUTPUT_CHARACTERS
    has_background: bool = True
    """Whether commands may run in the background."""

    def timeout_seconds(self, requested_ms: float | None) -> float:
        """Return the timeout of a call; anything that is not positive means the default."""
        if requested_ms is None or not requested_ms > 0:
            return self.default_timeout_seconds
        return min(requested_ms / 1000, self.max_timeout_seconds)


def limits_from_environment(environment: Mapping[str, str]) -> CommandLimits:
    """Return the limits that the environment sets; a value that is not a positive integer is ignored."""
    default = _number(environment, "BASH_DEFAULT_TIMEOUT_MS", DEFAULT_TIMEOUT_SECONDS * 1000) / 1000
    longest = _number(environment, "BASH_MAX_TIMEOUT_MS", MAX_TIMEOUT_SECONDS * 1000) / 1000
    shown = _number(environment, "BASH_MAX_OUTPUT_LENGTH", OUTPUT_CHARACTERS)
    task_shown = _number(environment, "TASK_MAX_OUTPUT_LENGTH", TASK_OUTPUT_CHARACTERS)
    refuses_background = environment.get("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "").lower() in _YES
    return CommandLimits(
        default_timeout_seconds=default,
        max_timeout_seconds=max(longest, default),
        output_characters=int(min(shown, MAX_OUTPUT_CHARACTERS)),
        task_output_characters=int(min(task_shown, MAX_TASK_OUTPUT_CHARACTERS)),
        has_background=not refuses_background,
    )


def _number(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name, "").strip()
    return float(text) if text.isascii() and text.isdigit() and int(text) > 0 else default
