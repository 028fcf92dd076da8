"""Lets the native hooks know what a command did; costs next to nothing where there are none."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from bridle.cli.programs.light_command import Given
from bridle.engine.hooks.find_hooks import find_scripts, repository_of


def tell(given: Given, run: Path, hook_type: str, payload: Mapping[str, object]) -> None:
    """Run the hooks of a type, if there are any; what a person should know of them goes to stderr."""
    plugin = given.text("--plugin-root")
    repository, plugin_root = repository_of(run), Path(plugin) if plugin else None
    if given.has("--no-hooks") or not find_scripts(hook_type, repository, os.environ, plugin_root):
        return
    from bridle.engine.hooks.run_hooks import Hooks
    from bridle.engine.hooks.sync_hooks import SyncHooks

    herald = SyncHooks(Hooks(repository, os.environ, plugin_root), run.name)
    herald.tell(hook_type, payload)
    for remark in herald.remarks:
        print(f"bridle: {remark}", file=sys.stderr)
