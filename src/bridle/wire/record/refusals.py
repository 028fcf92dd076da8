"""How Claude Code words the result of a tool call that was not let run.

The turn's result lists the refused calls and has the last word; until it comes, these words are all there is.
"""

from __future__ import annotations

import re

REJECTED = b'"User rejected tool use"'  # tool_use_result of a call that somebody stopped or refused
INTERRUPTED_PREFIX = "[Request interrupted by user"

_REFUSED = re.compile(
    r"Claude requested permissions to "
    r"|Permission to use \S+ (?:with command .{0,4000} )?has been denied"
    r"|Cannot \w+ (?:to )?.{0,4000} while in plan mode"
    r"|.{0,4000} was blocked\. For security, ",
    re.DOTALL,
)
_WRAPPED = re.compile(r"\A<tool_use_error>(.*)</tool_use_error>\Z", re.DOTALL)
_LAUNCHED = re.compile(r"Command running in background with ID: ")


def is_permission_refusal(text: str) -> bool:
    """Whether a failed call's text says that permission was missing."""
    return _REFUSED.match(text) is not None


def is_background_launch(text: str) -> bool:
    """Whether a call's text says that the work goes on in the background."""
    return _LAUNCHED.match(text) is not None


def unwrap_error(text: str) -> str:
    """The text without the tags that mark an error for the model."""
    found = _WRAPPED.match(text)
    return found[1] if found else text
