"""The permissions of a run, from flags and settings."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.agent.assemble.run_inputs import RunInputs
from bridle.agent.permissions.decide import bypass_refusal
from bridle.agent.permissions.rules.policy import Policy
from bridle.agent.permissions.rules.syntax import parse_rules
from bridle.errors import UsageError


def make_policy(inputs: RunInputs) -> tuple[Policy, bool]:
    """Return the permissions, and whether the host may bypass them later."""
    options, settings, environment = inputs.options, inputs.settings, inputs.environment
    skips = options.skips_permissions or settings.skips_permissions
    mode = "bypassPermissions" if skips else options.permission_mode or settings.default_mode or "default"
    may_bypass = mode == "bypassPermissions" or options.may_skip_permissions
    refusal = bypass_refusal(environment, os.geteuid(), _bypass_source(inputs)) if may_bypass else None
    if refusal is not None:
        raise UsageError(refusal)
    folders = [os.path.realpath(inputs.cwd / folder) for folder in options.add_dirs]
    policy = Policy(
        cwd=str(inputs.cwd),
        home=environment.get("HOME") or str(Path.home()),
        mode=mode,
        allow=(*parse_rules(options.allowed_tools), *settings.allow),
        deny=(*parse_rules(options.disallowed_tools), *settings.deny),
        ask=settings.ask,
        folders=tuple(dict.fromkeys([*folders, *settings.additional_folders])),
    )
    return policy, may_bypass


def _bypass_source(inputs: RunInputs) -> str:
    """Return the flag, or the setting and its file, that bypasses permissions or lets the host do it later."""
    options = inputs.options
    if options.skips_permissions:
        return "--dangerously-skip-permissions"
    if options.permission_mode == "bypassPermissions":
        return "--permission-mode bypassPermissions"
    return inputs.settings.bypass_setting or "--allow-dangerously-skip-permissions"
