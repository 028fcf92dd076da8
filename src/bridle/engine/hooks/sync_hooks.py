"""Lets the hooks know what an iteration did, from code that is not asynchronous itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridle.engine.hooks.run_hooks import Fired, Hooks


class SyncHooks:
    """Fires the hooks of one iteration and remembers how they ended."""

    def __init__(self, hooks: Hooks, run_id: str) -> None:
        self._hooks = hooks
        self._run_id = run_id
        self._fired: list[Fired] = []

    def hears(self, hook_type: str) -> bool:
        """Whether there is a hook of this type; what it would be told need not be gathered otherwise."""
        return self._hooks.enabled and bool(self._hooks.scripts(hook_type))

    def tell(self, hook_type: str, payload: Mapping[str, Any], *, limit_seconds: float | None = None) -> Fired:
        """Run the hooks of a type, if there are any; nothing heavy is imported where there are none."""
        if not self.hears(hook_type):
            fired = Fired(hook_type, is_off=not self._hooks.enabled)
        else:
            import asyncio

            told = {**payload, "runId": self._run_id}
            fired = asyncio.run(self._hooks.fire(hook_type, told, limit_seconds=limit_seconds))
        self._fired.append(fired)
        return fired

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person should know of the hooks: which failed, which may not run."""
        places = dict.fromkeys(one.untrusted for one in self._fired if one.untrusted is not None)
        words = [f"the hooks in {place}/.a5c/hooks did not run: `bridle doctor --trust` lets them" for place in places]
        return (*words, *(fault for one in self._fired for fault in one.faults))

    @property
    def status(self) -> str:
        """The most telling of the statuses of all that was fired."""
        statuses = {one.status for one in self._fired}
        told = (status for status in ("error", "executed", "untrusted", "skipped") if status in statuses)
        return next(told, "no-hooks-configured")
