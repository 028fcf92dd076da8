"""What a run is built from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.agent.command_line.options import Options
from bridle.agent.settings.load_settings import Settings

if TYPE_CHECKING:
    from bridle.agent.skills.plugins import Plugins


class RunInputs(msgspec.Struct, frozen=True):
    """The command line, the settings, and where the run takes place."""

    options: Options
    settings: Settings
    cwd: Path
    config_folder: Path
    environment: Mapping[str, str]
    """The environment of the process, with the variables of the settings."""


def plugins_of(inputs: RunInputs) -> Plugins:
    """Return the plugins of the command line."""
    from bridle.agent.skills.plugins import load_plugins  # late: not every start needs them

    return load_plugins(inputs.cwd, inputs.options.plugin_dirs)


def folder_warnings(inputs: RunInputs) -> list[str]:
    """Name the values of `--add-dir` that are files."""
    return [
        f"{path} is not a directory. Did you mean to add the parent directory {path.parent}?"
        for folder in inputs.options.add_dirs
        if (path := inputs.cwd / folder).is_file()
    ]
