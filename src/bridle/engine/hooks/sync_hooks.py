"""Fire hooks from synchronous code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridle.engine.hooks.run_hooks import HookResults, Hooks


class SyncHooks:
    """The hooks that one iteration or command fires."""

    def __init__(self, hooks: Hooks, run_id: str) -> None:
        self._hooks = hooks
        self._run_id = run_id
        self._results: list[HookResults] = []

    def has(self, hook_type: str) -> bool:
        """Return whether there is a hook of this type; if not, the caller need not build a payload."""
        return self._hooks.enabled and bool(self._hooks.scripts(hook_type))

    def fire(self, hook_type: str, payload: Mapping[str, Any], *, limit_seconds: float | None = None) -> HookResults:
        """Run the hooks of a type; import asyncio only if there are any."""
        if not self.has(hook_type):
            results = HookResults(hook_type, is_disabled=not self._hooks.enabled)
        else:
            import asyncio

            data = {**payload, "runId": self._run_id}
            results = asyncio.run(self._hooks.fire(hook_type, data, limit_seconds=limit_seconds))
        self._results.append(results)
        return results

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the messages for the user; the one about trust only once."""
        trust = dict.fromkeys(results.trust_warning for results in self._results if results.trust_warning)
        return (*trust, *(failure for results in self._results for failure in results.failures))

    @property
    def status(self) -> str:
        """Return the most significant status of all hooks that were fired."""
        statuses = {results.status for results in self._results}
        by_significance = ("error", "executed", "untrusted", "skipped")
        return next((status for status in by_significance if status in statuses), "no-hooks-configured")
