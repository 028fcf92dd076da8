"""The texts by which Claude Code reports a tool call that was refused or interrupted.

The turn's result lists the refused calls and takes precedence; until it arrives, only these texts are known.
"""

from __future__ import annotations

import re

REJECTED = b'"User rejected tool use"'  # tool_use_result of a call that the user stopped or refused
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
    """Return whether a failed call's text reports a missing permission."""
    return _REFUSED.match(text) is not None


def is_background_launch(text: str) -> bool:
    """Return whether a call's text reports that its command continues in the background."""
    return _LAUNCHED.match(text) is not None


def unwrap_error(text: str) -> str:
    """Remove the tags that mark an error for the model."""
    match = _WRAPPED.match(text)
    return match[1] if match else text
