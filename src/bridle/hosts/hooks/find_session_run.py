"""The folder of the run that a session is bound to: the session's file has only its id."""

from __future__ import annotations

import os

from bridle.errors import RunNotFound
from bridle.ground import ids
from bridle.ground.light.abc_names import Iterator, Mapping
from bridle.ground.light.quick_path import Path
from bridle.hosts.sessions.session_file import PROJECT_VARIABLE
from bridle.journal.format import layout
from bridle.journal.stores.find_run import collapse


def find_run(run_id: str, runs_dir: str | None, cwd: str | None, environ: Mapping[str, str]) -> Path:
    """Where the run is; RunNotFound where it is nowhere.

    An agent changes folders while it works, so the run may be above the folder that it is in now.
    """
    ids.check_id(run_id, what="the run id")
    explicit = runs_dir or environ.get(layout.RUNS_FOLDER_VARIABLE)
    places = list(dict.fromkeys(_places(explicit, cwd, environ)))
    for place in places:
        if os.path.lexists(os.path.join(place, run_id, layout.RUN_FILE)):
            return Path(os.path.join(place, run_id))
    raise RunNotFound(
        f"the run {run_id} of this session is not in {places[0]}, nor elsewhere where runs are looked for",
        remedy="Set BABYSITTER_RUNS_DIR to the folder that it is in, or bind the session to another run.",
    )


def _places(explicit: str | None, cwd: str | None, environ: Mapping[str, str]) -> Iterator[str]:
    if explicit:
        yield collapse(os.path.abspath(explicit))
        return
    for base in (cwd, environ.get(PROJECT_VARIABLE), "."):
        folder = os.path.abspath(base) if base else ""
        while folder:
            yield collapse(os.path.join(folder, layout.RUNS_FOLDER))
            above = os.path.dirname(folder)
            folder = above if above != folder else ""
