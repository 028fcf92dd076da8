"""The arguments of a call as hooks and the host see them: the file that it names has its absolute path.

A program that decides about a call need not know the working folder, nor expand `~`. The tool still gets what the
model sent, and its result names the file as the model did.
"""

from __future__ import annotations

import os
from typing import Any, Final

from bridle.agent.permissions.rules.policy import Policy

_PATH: Final = "file_path"
_FILE_TOOLS: Final = frozenset({"Read", "Write", "Edit"})


def show_arguments(tool: str, arguments: dict[str, Any], policy: Policy) -> dict[str, Any]:
    """Return the arguments with the absolute path of the file."""
    path = arguments.get(_PATH)
    if tool not in _FILE_TOOLS or not isinstance(path, str) or not path or "\0" in path:
        return arguments
    return {**arguments, _PATH: _absolute(path, policy)}


def as_sent(sent: dict[str, Any], shown: dict[str, Any], answer: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the arguments that a hook or the host answered, with the path of the model if that is unchanged."""
    if answer is None or _PATH not in sent or answer.get(_PATH) != shown.get(_PATH):
        return answer
    return {**answer, _PATH: sent[_PATH]}


def _absolute(path: str, policy: Policy) -> str:
    if path == "~" or path.startswith("~/"):
        path = policy.home + path[1:]
    joined = os.path.join(policy.shell_folder or policy.cwd, path)
    normal = os.path.normpath(joined)
    # `..` after a link leads elsewhere than the text says.
    return normal if os.path.realpath(normal) == os.path.realpath(joined) else joined
