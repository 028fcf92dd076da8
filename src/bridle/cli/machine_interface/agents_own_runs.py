"""Runs that an agent or a check has begun itself: it may steer those, and no others.

Such a run is in a repository that was made after the innermost agent or check above started, and is recorded in a
BRIDLE_HOME that was made after it too. So tests of Bridle can be a check of a run. An agent of that inner run started
later than its repository was made, and cannot steer it.
"""

from __future__ import annotations

import os
from pathlib import Path

from bridle.errors import Error
from bridle.ground import own_runs
from bridle.ground.descendants.enclosing_agent import agent_started_ns
from bridle.ground.files.birth_time import birth_time_ns
from bridle.ground.git_folder import find_common_folder, repository_top
from bridle.ground.home import bridle_home


def is_of_this_agent(run: Path | None) -> bool:
    """Return whether the agent above has made the home and the repository of a run; without a run, of this folder."""
    started = agent_started_ns()
    home = Path(os.path.realpath(bridle_home(os.environ)))
    if started is None or not _is_newer(next(folder for folder in (home, *home.parents) if folder.exists()), started):
        return False
    if run is not None and not own_runs.is_recorded(run, home):
        return False
    folder = Path.cwd() if run is None else Path(os.path.realpath(run))
    top = repository_top(folder)
    if top is None or not _is_newer(top, started) or not _is_newer(top / ".git", started):
        return False
    # A worktree of another repository has its folder elsewhere.
    return find_common_folder(top) == top / ".git" and _is_top_for_git(top)


def _is_top_for_git(top: Path) -> bool:
    """Return whether git works in this folder too: `core.worktree` names any other."""
    import asyncio

    from bridle.workspace.git import Git

    try:
        return Path(os.path.realpath(asyncio.run(Git(top, os.environ).top()))) == top
    except Error:
        return False


def _is_newer(path: Path, than_ns: int) -> bool:
    made = birth_time_ns(str(path))
    return made is not None and made > than_ns
