"""Which programs a run will start, and who pays for them: said once, before anything is begun."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bridle.errors import AgentError
from bridle.loop.settings.model import Settings
from bridle.run.command import build
from bridle.run.locate import locate
from bridle.run.request import Auth, Permission, Request
from bridle.run.sandbox import detect


def introduce(settings: Settings, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """A line for each agent of the list; AgentError where none of them is there at all."""
    lines: list[str] = []
    missing: list[AgentError] = []
    for name in settings.agents:
        try:
            program = locate(name, environment).path
        except AgentError as error:
            missing.append(error)
            lines.append(f"{error.message}; {error.remedy}")
            continue
        asked = Request(prompt="-", cwd=folder, agent=name, auth=Auth(settings.auth))
        lines.append(f"agent {name} ({program}), auth: {build(asked, program, environment).auth}")
    if len(missing) == len(settings.agents):
        raise missing[0]
    if settings.permission == Permission.BYPASS:
        lines.append(f"permissions are bypassed; sandbox: {detect(environment) or 'none was detected'}")
    return lines
