"""`bridle hook:run`: answer a hook of the host. The plugin imports `bridle.hosts.hooks.entry_point` directly."""

from __future__ import annotations

import os

from bridle.cli.programs.light_command import RUNS_DIR, Given, Light, Option
from bridle.hosts.adapters.adapter import HookCall
from bridle.hosts.hooks import entry_point

_OPTIONS = (
    Option("--hook-type", f"Which hook: {' or '.join(entry_point.HOOK_TYPES)}.", value="TYPE"),
    Option(
        "--harness",
        f"The host that asks: claude-code, codex or none (default: {entry_point.DEFAULT_HARNESS}).",
        value="NAME",
    ),
    Option("--plugin-root", "The folder of the plugin, where sessions are kept.", value="DIR"),
    Option("--state-dir", "Where sessions are kept, whatever the plugin.", value="DIR"),
    RUNS_DIR,
)


def _run(given: Given) -> int:
    handle = entry_point.chosen(given.text("--hook-type"), given.text("--harness"))
    call = HookCall(
        entry_point.read_payload(),
        os.environ,
        plugin_root=given.text("--plugin-root") or None,
        state_dir=given.text("--state-dir") or None,
        runs_dir=given.text(RUNS_DIR.name) or None,
    )
    return entry_point.respond(handle, call)


command = Light("Answer a hook of the host; its payload is on standard input.", _run, options=_OPTIONS)
