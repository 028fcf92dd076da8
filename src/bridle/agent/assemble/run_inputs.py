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


def folder_warnings(inputs: RunInputs) -> list[str]:
    """Name the values of `--add-dir` that are files."""
    return [
        f"{path} is not a directory. Did you mean to add the parent directory {path.parent}?"
        for folder in inputs.options.add_dirs
        if (path := inputs.cwd / folder).is_file()
    ]
