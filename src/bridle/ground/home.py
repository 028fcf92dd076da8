"""The user's own Bridle folder: settings, trust, tokens, logs of hooks. Hooks import this: nothing heavy in here."""

from __future__ import annotations

import os

from bridle.ground.light.abc_names import Mapping

TYPE_CHECKING = False  # `typing` is too slow to import in a hook; type checkers know the name
if TYPE_CHECKING:
    from pathlib import Path

VARIABLE = "BRIDLE_HOME"
FOLDER = ".bridle"


def find_home(environment: Mapping[str, str]) -> str | None:
    """Return BRIDLE_HOME, else `.bridle` in HOME; None where neither is set."""
    home = environment.get("HOME")
    return environment.get(VARIABLE) or (os.path.join(home, FOLDER) if home else None)


def bridle_home(environment: Mapping[str, str]) -> Path:
    """Return the same as a Path; without both variables, below the home folder of this account."""
    from pathlib import Path

    found = find_home(environment)
    return Path(found) if found is not None else Path.home() / FOLDER
