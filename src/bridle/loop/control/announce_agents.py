"""Which programs a run will start, and who pays for them: printed once, before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bridle.errors import AgentError
from bridle.loop.settings.model import Settings
from bridle.run.command import build
from bridle.run.locate import locate
from bridle.run.request import Auth, Permission, Request
from bridle.run.sandbox import detect


def describe_agents(settings: Settings, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Return a line for each listed agent; raise AgentError where none of them is installed."""
    lines: list[str] = []
    missing: list[AgentError] = []
    for name in settings.agents:
        try:
            program = locate(name, environment).path
        except AgentError as error:
            missing.append(error)
            lines.append(f"{error.message}. {error.remedy}")
            continue
        request = Request(prompt="-", cwd=folder, agent=name, auth=Auth(settings.auth))
        lines.append(f"agent {name} ({program}), auth: {build(request, program, environment).auth}")
    if len(missing) == len(settings.agents):
        raise missing[0]
    if settings.permission == Permission.BYPASS:
        lines.append(f"permissions are bypassed; sandbox: {detect(environment) or 'none detected'}")
    return lines
