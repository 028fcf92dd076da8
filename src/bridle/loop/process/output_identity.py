"""What a replay compares of a receipt."""

from __future__ import annotations

from typing import Any

from bridle.loop.run_inputs import WORDING, wording_of


def output_identity(inputs: Any, receipt: Any) -> Any:
    """Return what a replay compares of a receipt: in runs of another wording its decisions, else all of it."""
    if not isinstance(inputs, dict) or wording_of(inputs) == WORDING:
        return receipt
    try:
        return _decisions(receipt)
    except (AttributeError, TypeError):  # not a receipt
        return receipt


def _decisions(receipt: dict[str, Any]) -> dict[str, Any]:
    tasks = [
        {name: task.get(name) for name in ("title", "verdict", "iterations", "tries", "commit", "cost_usd")}
        | {"checks": [(check.get("command"), check.get("exit_code")) for check in task.get("checks") or ()]}
        for task in receipt.get("tasks") or ()
    ]
    whole = ("run", "plan", "branch", "verdict", "commits", "iterations", "cost_usd", "seconds", "limits")
    return {name: receipt.get(name) for name in whole} | {"tasks": tasks}
