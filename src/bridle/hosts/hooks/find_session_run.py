"""Find the folder of a session's run; the session file has only its id."""

from __future__ import annotations

import os

from bridle.errors import RunNotFound
from bridle.ground import ids
from bridle.ground.light.abc_names import Iterator, Mapping
from bridle.ground.light.quick_path import Path
from bridle.hosts.sessions.session_file import PROJECT_VARIABLE
from bridle.journal.format import layout
from bridle.journal.stores.find_run import collapse


def find_session_run(run_id: str, runs_dir: str | None, cwd: str | None, environ: Mapping[str, str]) -> Path:
    """Return the folder of a run, or raise RunNotFound.

    An agent changes folders, so the run may be in a parent of its present folder.
    """
    ids.check_id(run_id, what="the run id")
    explicit = runs_dir or environ.get(layout.RUNS_FOLDER_VARIABLE)
    folders = list(dict.fromkeys(_candidates(explicit, cwd, environ)))
    for folder in folders:
        if os.path.lexists(os.path.join(folder, run_id, layout.RUN_FILE)):
            return Path(os.path.join(folder, run_id))
    raise RunNotFound(
        f"the run {run_id} of this session is not in {folders[0]}, nor in the other folders of runs",
        remedy="Set BABYSITTER_RUNS_DIR to its folder, or bind the session to another run.",
    )


def _candidates(explicit: str | None, cwd: str | None, environ: Mapping[str, str]) -> Iterator[str]:
    if explicit:
        yield collapse(os.path.abspath(explicit))
        return
    for base in (cwd, environ.get(PROJECT_VARIABLE), "."):
        folder = os.path.abspath(base) if base else ""
        while folder:
            yield collapse(os.path.join(folder, layout.RUNS_FOLDER))
            parent = os.path.dirname(folder)
            folder = parent if parent != folder else ""
