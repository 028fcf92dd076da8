"""`bridle hook:run`: handle a hook of the host. The plugin imports `bridle.hosts.hooks.entry_point` directly."""

from __future__ import annotations

import os

from bridle.cli.machine_interface.light_command import RUNS_DIR, Arguments, LightCommand, Option
from bridle.hosts.hooks import entry_point
from bridle.hosts.hooks.hook_protocol import HookCall

_OPTIONS = (
    Option("--hook-type", f"Which hook: {' or '.join(entry_point.HOOK_TYPES)}.", value="TYPE"),
    Option(
        "--harness",
        f"The host: claude-code, codex or none (default: {entry_point.DEFAULT_HARNESS}).",
        value="NAME",
    ),
    Option("--plugin-root", "The folder of the plugin, which holds the session files.", value="DIR"),
    Option("--state-dir", "Folder of the session files, instead of the plugin's.", value="DIR"),
    RUNS_DIR,
)


def _run(args: Arguments) -> int:
    hook, adapter = entry_point.find_hook(args.text("--hook-type"), args.text("--harness"))
    call = HookCall(
        adapter,
        entry_point.read_stdin(),
        os.environ,
        plugin_root=args.text("--plugin-root") or None,
        state_dir=args.text("--state-dir") or None,
        runs_dir=args.text(RUNS_DIR.name) or None,
    )
    return entry_point.respond(hook, call)


command = LightCommand("Handle a hook of the host; its payload is on standard input.", _run, options=_OPTIONS)
