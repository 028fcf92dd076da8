"""Submodules with files that their commits do not contain."""

from __future__ import annotations

import os
import re

from bridle.loop.working_copy.run_context import RunContext

# A line of `git status` about a submodule with changed (M) or new (U) files in it.
_DIRTY_SUBMODULE = re.compile(r"1 .. S.(?:M.|.U) ")


async def dirty_submodules(context: RunContext) -> list[str]:
    """Return the submodules with uncommitted changes."""
    if not os.path.lexists(context.folder / ".gitmodules"):
        return []
    arguments = ("status", "--porcelain=v2", "-z", "--untracked-files=no", "--ignore-submodules=none")
    return [line.split(" ", 8)[8] for line in await context.git.names(*arguments) if _DIRTY_SUBMODULE.match(line)]
