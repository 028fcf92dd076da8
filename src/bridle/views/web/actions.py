"""What a user does on the page: each action is a `bridle` command, started as a child of the server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from bridle.errors import Error, UsageError
from bridle.views.run_data.commands import Target, build_command
from bridle.views.run_data.run_actions import perform
from bridle.views.web.guard import Refused
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask

_USAGE = 2


class Actions(Struct, frozen=True):
    """Starts the commands."""

    environment: Mapping[str, str]
    top: Path
    """The working folder of agents that belong to no run."""
    mask: Mask

    async def execute(self, action: dict[str, Any], target: Target | None, repository: Path | None) -> JsonObject:
        """Execute an action and return what to show; raise Refused where the command refuses."""
        name = "sessions" if target is None else target.run.name
        try:
            command = build_command(action, target)
            done = await perform(command, name=name, cwd=repository or self.top, environment=self.environment)
        except UsageError as error:
            raise Refused(400, error.code, self.mask.apply(error.message), error.remedy or "") from error
        except Error as error:
            raise Refused(500, error.code, self.mask.apply(error.message), error.remedy or "") from error
        if not done.ok:
            status = 400 if done.exit_code == _USAGE else 409
            raise Refused(status, done.error, self.mask.apply(done.message), self.mask.apply(done.remedy))
        shown: JsonObject = {"ok": True, "message": done.message, "command": done.command}
        masked: JsonObject = self.mask.apply_to_json(shown)
        return masked | {"is_running": done.is_running}
