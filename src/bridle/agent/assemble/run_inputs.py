"""What a run is built from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from bridle.agent.command_line.options import Options
from bridle.agent.settings.load_settings import Settings


class RunInputs(msgspec.Struct, frozen=True):
    """The command line, the settings, and where the run takes place."""

    options: Options
    settings: Settings
    cwd: Path
    config_folder: Path
    environment: Mapping[str, str]
    """The environment of the process, with the variables of the settings."""
