"""Whether an agent has a login or a key, as a run would start it: `bridle doctor` reports it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bridle.errors import Error, ProcessError, UsageError
from bridle.ground import program_path
from bridle.ground.children.capture import capture
from bridle.ground.home import bridle_home
from bridle.ground.json_fields import JsonFields
from bridle.loop.settings.bridle_toml import load_settings
from bridle.run.command import KEY_VARIABLE, build_command
from bridle.run.locate import find_program
from bridle.run.policy import log_in_remedy
from bridle.run.request import Auth, Request

# A program takes a second or two when it is started for the first time.
_LIMIT_SECONDS = 20.0


class Login(Struct, frozen=True):
    """Whether an agent is logged in, and how; or what to do."""

    is_there: bool
    message: str
    remedy: str | None = None


async def check_login(agent: str, environment: Mapping[str, str], repository: Path) -> Login | None:
    """Ask an agent for its login, in the environment that a run would give it; None where it cannot be asked."""
    try:
        program = find_program(agent, environment, repository)
        auth = Auth(load_settings(repository, bridle_home(environment)).auth)
    except Error:  # another check reports it
        return None
    if program.is_inside:
        return None
    try:
        request = Request(prompt="-", cwd=repository, agent=agent, auth=auth)
        command = build_command(request, program.path, environment)
    except UsageError as error:  # auth is `key`, and no key is set
        return Login(is_there=False, message=error.message, remedy=error.remedy)
    answer = await _ask(program.path, program_path.outside_environment(command.environment, repository), repository)
    if answer is None:
        return None
    if answer.value("loggedIn") is True:
        method = answer.text("authMethod") or "logged in"
        return Login(is_there=True, message=f"{agent} can log in: {method} (auth: {command.auth})")
    if reason := answer.text("reason"):
        return Login(is_there=False, message=f"{agent} cannot be used: {reason}", remedy=log_in_remedy(agent))
    unused = f"; {KEY_VARIABLE} is set, but only `--auth key` uses it" if environment.get(KEY_VARIABLE) else ""
    return Login(is_there=False, message=f"{agent} is not logged in{unused}", remedy=log_in_remedy(agent))


async def _ask(program: str, environment: Mapping[str, str], folder: Path) -> JsonFields | None:
    """Return the answer of `auth status`; None from a version that does not know it."""
    quiet = {**environment, "DISABLE_AUTOUPDATER": "1"}
    argv = (program, "auth", "status", "--json")
    try:
        asked = await capture(argv, cwd=folder, environment=quiet, limit_seconds=_LIMIT_SECONDS)
        answer = json.loads(asked.stdout)
    except (ProcessError, ValueError):
        return None
    fields = JsonFields(answer)
    return fields if isinstance(fields.value("loggedIn"), bool) else None
