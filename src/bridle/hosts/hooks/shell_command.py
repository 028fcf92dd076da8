"""The command with which an agent calls Bridle from its shell."""

from __future__ import annotations

import os
import sys

from bridle.ground.light.abc_names import Mapping

NAME = "bridle"

# Its path in the plugin that `bridle plugin install` writes.
IN_PLUGIN = "bin/bridle"


def find_program(environ: Mapping[str, str]) -> str:
    """Return `bridle` if it is on the PATH, else the path of the one beside this interpreter."""
    folders = environ.get("PATH", "").split(os.pathsep)
    if any(folder and os.access(os.path.join(folder, NAME), os.X_OK) for folder in folders):
        return NAME
    beside = os.path.join(os.path.dirname(sys.executable), NAME)
    return beside if os.access(beside, os.X_OK) else NAME
