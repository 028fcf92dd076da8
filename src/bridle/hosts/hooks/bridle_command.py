"""How an agent calls Bridle from its shell."""

from __future__ import annotations

import os
import sys

from bridle.ground.light.abc_names import Mapping

NAME = "bridle"

# Where the plugin that `bridle plugin install` writes has it.
IN_PLUGIN = "bin/bridle"


def program(environ: Mapping[str, str]) -> str:
    """`bridle` where the agent's shell finds it, else the one that was installed beside our own interpreter."""
    folders = environ.get("PATH", "").split(os.pathsep)
    if any(folder and os.access(os.path.join(folder, NAME), os.X_OK) for folder in folders):
        return NAME
    beside = os.path.join(os.path.dirname(sys.executable), NAME)
    return beside if os.access(beside, os.X_OK) else NAME
