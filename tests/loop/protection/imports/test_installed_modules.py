"""The names of installed modules are found without starting Python."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from pathlib import Path

from bridle.loop.protection.imports.installed_modules import installed_names


def test_the_modules_of_all_plugins_are_known(tmp_path: Path) -> None:
    plugins = {point.module.partition(".")[0] for point in entry_points(group="pytest11")}
    names = installed_names(tmp_path, (sys.executable,), {})
    assert plugins <= names
    assert not {"tests", "src"} & names
