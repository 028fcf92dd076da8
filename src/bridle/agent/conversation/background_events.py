"""Reports commands that run in the background: events for the client, notices for the model."""

from __future__ import annotations

import asyncio

from bridle.agent.conversation.message_log import MessageLog
from bridle.agent.stdio.output_events import TaskNotification, TaskPatch, TaskStarted, TaskUpdated
from bridle.agent.tools.shell import background as tasks
from bridle.agent.tools.shell.background import BackgroundTasks, TaskEvent, TaskFinished


class BackgroundEvents:
    """Prints what happens in the background, and collects the notices that the model has not seen."""

    def __init__(self, background: BackgroundTasks, log: MessageLog, changed: asyncio.Event) -> None:
        """`changed` is set when a command has ended."""
        self._background, self._log, self._changed = background, log, changed
        self._notices: list[str] = []

    def take_notices(self) -> list[str]:
        """Return the notices for the model, and forget them."""
        notices, self._notices = self._notices, []
        return notices

    def report_pending(self) -> None:
        """Report everything that has happened so far."""
        while not self._background.events.empty():
            self._report(self._background.events.get_nowait())

    async def follow(self) -> None:
        """Report everything as it happens, until cancelled."""
        while True:
            self._report(await self._background.events.get())

    def _report(self, event: TaskEvent) -> None:
        match event:
            case tasks.TaskStarted():
                self._log.emit(
                    TaskStarted(task_id=event.task_id, tool_use_id=event.call_id, description=event.description)
                )
            case TaskFinished():
                patch = TaskPatch(status=event.status, end_time=event.end_time_ms)
                self._log.emit(TaskUpdated(task_id=event.task_id, patch=patch))
                is_known = self._background.is_reported(event.task_id)
                # A model that waited for the end has it with the output; a task that was stopped is always reported.
                if not is_known or event.status == "killed":
                    self._log.emit(
                        TaskNotification(
                            task_id=event.task_id, tool_use_id=event.call_id, **tasks.notification_fields(event)
                        )
                    )
                if not is_known:
                    self._notices.append(tasks.notification_text(event))
                self._changed.set()
