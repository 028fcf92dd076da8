"""Runs the native hooks of a command; costs almost nothing in a repository without hooks."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from bridle.cli.machine_interface.light_command import Arguments
from bridle.engine.hooks.find_hooks import find_scripts, repository_of


def fire_hooks(args: Arguments, run: Path, hook_type: str, payload: Mapping[str, object]) -> None:
    """Run the hooks of a type, unless the command line disables them."""
    plugin = args.text("--plugin-root")
    if not args.has("--no-hooks"):
        fire_hooks_of_run(run, hook_type, payload, plugin_root=Path(plugin) if plugin else None)


def fire_hooks_of_run(
    run: Path, hook_type: str, payload: Mapping[str, object], *, plugin_root: Path | None = None
) -> None:
    """Run the hooks of a type, if there are any, and print their warnings on stderr."""
    repository = repository_of(run)
    if not find_scripts(hook_type, repository, os.environ, plugin_root):
        return
    from bridle.engine.hooks.run_hooks import Hooks
    from bridle.engine.hooks.sync_hooks import SyncHooks

    hooks = SyncHooks(Hooks(repository, os.environ, plugin_root), run.name)
    hooks.fire(hook_type, payload)
    for warning in hooks.warnings:
        print(f"bridle: {warning}", file=sys.stderr)
