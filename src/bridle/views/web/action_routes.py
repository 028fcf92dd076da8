"""What the server does: the actions of the page, and the record of those that an agent tried."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.engine.entries import refused_commands
from bridle.ground.threads import in_thread
from bridle.views.run_data.board import Board, KnownRun
from bridle.views.run_data.commands import Target
from bridle.views.run_data.log_ending import read_meta_if_possible
from bridle.views.run_data.log_list import ListedLog
from bridle.views.run_data.run_logs import working_folder_of
from bridle.views.web.actions import Actions
from bridle.views.web.guard import Refused
from bridle.views.web.responses import json_response
from bridle.views.web.shared_data import NO_RUN, SharedData
from bridle.wire.events.loose_json import JsonObject

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

# Of the name of an action that an agent made up.
_ACTION_CHARACTERS = 40


class AttemptedAction(msgspec.Struct):
    """What is recorded of an action that an agent tried."""

    action: str = ""
    run: str = ""


class ActionRoutes:
    """The actions of the page."""

    def __init__(self, data: SharedData, actions: Actions) -> None:
        self._data = data
        self._actions = actions

    async def act(self, request: Request) -> Response:
        """Execute an action."""
        return json_response(await self._execute(await request.body()))

    async def record_refused(self, body: bytes) -> None:
        """Record in the journal of its run that an agent tried an action."""
        try:
            action = msgspec.json.decode(body, type=AttemptedAction)
        except (msgspec.MsgspecError, RecursionError):
            return
        command = f"watch: {action.action[:_ACTION_CHARACTERS]}"
        known = await self._data.find_run(action.run)
        if known is not None:
            await in_thread(lambda: refused_commands.record(known.folder, [command]), name="recording a refusal")

    async def _execute(self, body: bytes) -> JsonObject:
        try:
            action = msgspec.json.decode(body)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise Refused(400, "bad body", "the body must be a JSON object") from error
        if not isinstance(action, dict):
            raise Refused(400, "bad body", "the body must be a JSON object")
        named = action.get("run")
        if action.get("action") == "message":
            return await self._continue_session(action)
        if not named or named == NO_RUN:
            return await self._actions.execute(action, None, None)
        known = await self._data.find_run(named) if isinstance(named, str) else None
        if known is None:
            raise Refused(404, "no such run", "there is no such run")
        return await self._actions.execute(action, *_target(known))

    async def _continue_session(self, action: dict[str, Any]) -> JsonObject:
        """Send a message to a session, in the folder of its agent: an agent finds its sessions by the folder."""
        session = action.get("session")
        log = await self._data.with_board(lambda board: _log_of_session(board, session))
        if log is None:
            raise Refused(404, "no such session", "there is no log of that session")
        agent = action.get("agent") or read_meta_if_possible(log.path).agent
        return await self._actions.execute({**action, "agent": agent}, None, working_folder_of(log.path))


def _log_of_session(board: Board, session: object) -> ListedLog | None:
    """Return the newest log of a session."""
    logs = [*board.sessions, *(log for known in board.runs.values() for log in reversed(known.logs))]
    known = (log for log in logs if read_meta_if_possible(log.path).session_id == session)
    return next(known, None) if isinstance(session, str) and session else None


def _target(known: KnownRun) -> tuple[Target, Path | None]:
    facts = known.facts
    if facts is None:
        return Target(known.folder), None
    target = Target(known.folder, is_loop=facts.receipt is not None, is_driven=facts.driver is not None)
    return target, facts.repository
