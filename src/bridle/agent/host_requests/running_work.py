"""Requests about work that waits or runs: queued messages and background tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bridle.agent.control.control_handlers import Handler, Payload
from bridle.agent.stdio.inbox import Inbox
from bridle.agent.tools.shell.background import BackgroundTasks
from bridle.wire.control.requests import CancelAsyncMessage, StopTask
from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.loose_json import JsonObject


def running_work_handlers(
    inbox: Inbox, background: BackgroundTasks, stop_agent: Callable[[str], Awaitable[None]]
) -> dict[str, Handler]:
    """Return the handlers by subtype; `stop_agent` ends a sub-agent by its id."""

    def cancel_message(request: JsonObject) -> Payload:
        uuid = convert(request, CancelAsyncMessage).message_uuid
        return {"cancelled": bool(uuid) and inbox.remove(uuid)}

    async def stop_task(request: JsonObject) -> Payload:
        task_id = convert(request, StopTask).task_id
        if not await background.stop_command(task_id):
            await stop_agent(task_id)
        return {}

    return {"cancel_async_message": cancel_message, "stop_task": stop_task}
