"""The hooks of a run: from settings and plugins, with the place where they run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from bridle.agent.assemble.run_inputs import RunInputs, plugins_of
from bridle.agent.control.host_requests import HostRequests
from bridle.agent.conversation.message_log import MessageLog
from bridle.agent.conversation.model_setup import ModelSetup
from bridle.agent.conversation.session_hooks import SessionHooks
from bridle.agent.hooks.definitions import HookTable, merge_hooks, settings_hooks
from bridle.agent.hooks.outcome import HookOutput
from bridle.agent.hooks.run_hooks import HookPlace, Hooks
from bridle.agent.model.api.models import effort_for
from bridle.agent.permissions.decide import decide
from bridle.agent.permissions.rules.policy import Denied
from bridle.agent.permissions.rules.syntax import parse_rules
from bridle.agent.sessions.session import new_uuid
from bridle.agent.settings.settings_file import read_object
from bridle.agent.skills.plugins import MANIFEST, Plugin
from bridle.agent.stdio.output_events import HookResponse, HookStarted

# The hooks of this event are printed always, those of others with --include-hook-events.
_SHOWN = "SessionStart"
# The hooks of these events are never printed: the stream has ended.
_HIDDEN = ("SessionEnd",)


def session_hooks(
    inputs: RunInputs, setup: ModelSetup, log: MessageLog, host: HostRequests | None, note: Callable[[str], None]
) -> tuple[SessionHooks | None, tuple[str, ...]]:
    """Return the hooks of the session, and warnings; None without hooks and without a host that could register some."""
    table, warnings = _configured(inputs)
    if not table and host is None:
        return None, warnings
    events = _HookEvents(log, shows_all=inputs.options.shows_hooks)
    place = HookPlace(
        project=inputs.cwd,
        environment=_environment(inputs, setup, log.session.id),
        session=lambda: _session_fields(log, setup),
        on_start=events.started,
        on_end=events.ended,
        note=note,
        matches_rule=lambda rule, tool, arguments: _matches(setup, rule, tool, arguments),
    )
    hooks = SessionHooks(
        Hooks(table, place, host),
        inputs.environment,
        lambda: setup.policy.mode,
        lambda: effort_for(setup.model, inputs.options.effort, inputs.environment),
    )
    return hooks, warnings


def _configured(inputs: RunInputs) -> tuple[HookTable, tuple[str, ...]]:
    if inputs.options.is_bare or inputs.options.is_safe or inputs.settings.other.get("disableAllHooks") is True:
        return {}, ()
    found = [settings_hooks(value, f"the {source} settings") for source, value in inputs.settings.hooks]
    found += [table for plugin in plugins_of(inputs).loaded for table in _of_plugin(plugin, inputs)]
    return merge_hooks(*(table for table, _ in found)), tuple(line for _, lines in found for line in lines)


def _of_plugin(plugin: Plugin, inputs: RunInputs) -> list[tuple[HookTable, tuple[str, ...]]]:
    data = inputs.config_folder / "plugins" / "data" / plugin.path.name
    variables = {"CLAUDE_PLUGIN_ROOT": str(plugin.path), "CLAUDE_PLUGIN_DATA": str(data)}
    found: list[tuple[HookTable, tuple[str, ...]]] = []
    for place in plugin.hooks:
        path = plugin.path / place if isinstance(place, str) else plugin.path / MANIFEST
        try:
            document = place if not isinstance(place, str) else read_object(path) if plugin.path.is_dir() else None
        except ValueError as error:
            found.append(({}, (f"Ignoring {path}: {error}",)))
            continue
        hooks: Any = (document or {}).get("hooks", {} if isinstance(place, str) else document)
        if isinstance(hooks, dict):
            found.append(settings_hooks(hooks, str(path), variables))
        else:
            found.append(({}, (f"Ignoring {path}: hooks must be an object",)))
    return found


def _environment(inputs: RunInputs, setup: ModelSetup, session_id: str) -> dict[str, str]:
    variables = {
        "CLAUDE_CODE_ENTRYPOINT": "sdk-cli",
        **inputs.environment,
        "AI_AGENT": "bridle-agent",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_CODE_SESSION_ID": session_id,
        "CLAUDE_PROJECT_DIR": str(inputs.cwd),
    }
    effort = effort_for(setup.model, inputs.options.effort, inputs.environment)
    return variables if effort is None else variables | {"CLAUDE_EFFORT": effort}


def _matches(setup: ModelSetup, rule: str, tool: str, arguments: dict[str, Any]) -> bool:
    """Return whether a permission rule matches a call: a policy that only denies it would deny the call."""
    policy = replace(setup.current_policy(), mode="default", allow=(), ask=(), deny=parse_rules([rule]))
    return isinstance(decide(tool, arguments, policy), Denied)


def _session_fields(log: MessageLog, setup: ModelSetup) -> dict[str, Any]:
    path = log.session.path
    return {
        "session_id": log.session.id,
        "transcript_path": str(path) if path is not None else "",
        "cwd": setup.shell_folder() or os.getcwd(),
        **({"prompt_id": log.session.prompt_id} if log.session.has_prompt else {}),
    }


class _HookEvents:
    """Prints the events of hooks that are shown."""

    def __init__(self, log: MessageLog, *, shows_all: bool) -> None:
        self._log, self._shows_all = log, shows_all

    def started(self, event: str, subject: str) -> str:
        hook_id = new_uuid()
        if self._is_shown(event):
            self._log.emit(HookStarted(hook_id=hook_id, hook_name=_name(event, subject), hook_event=event))
        return hook_id

    def _is_shown(self, event: str) -> bool:
        return (self._shows_all and event not in _HIDDEN) or event == _SHOWN

    def ended(self, hook_id: str, event: str, subject: str, output: HookOutput) -> None:
        if not self._is_shown(event):
            return
        code = output.exit_code if output.exit_code is not None else 1
        self._log.emit(
            HookResponse(
                hook_id=hook_id,
                hook_name=_name(event, subject),
                hook_event=event,
                output=output.stdout + output.stderr,
                stdout=output.stdout,
                stderr=output.stderr,
                exit_code=code,
                outcome=_outcome(output.exit_code),
            )
        )


def _outcome(code: int | None) -> str:
    if code is None:
        return "cancelled"
    return "success" if code == 0 else "error"


def _name(event: str, subject: str) -> str:
    return f"{event}:{subject}" if subject and event != "SubagentStop" else event
