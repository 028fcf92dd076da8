"""Receipts for the tests of views, with as little in them as a view needs."""

from __future__ import annotations

from typing import Any

from bridle.loop.process.receipt import Receipt

LIMITS = {"max_iterations": 50, "max_seconds": 28800.0, "max_cost_usd": 20.0, "tries": 5}


def check(command: str = "make test", exit_code: int = 0, **more: Any) -> dict[str, Any]:
    """One check as a receipt has it."""
    return {"command": command, "exit_code": exit_code, "seconds": 0.12, "output": "", **more}


def task(title: str, verdict: str = "done", **more: Any) -> dict[str, Any]:
    """One task as a receipt has it."""
    known: dict[str, Any] = {
        "title": title,
        "verdict": verdict,
        "reason": "",
        "iterations": 1,
        "tries": 0,
        "checks": [],
        "commit": None,
        "cost_usd": 0.05,
        "input_tokens": 10,
        "output_tokens": 2,
        "seconds": 2.0,
    }
    return known | more


def receipt(*tasks: dict[str, Any], verdict: str = "done", **more: Any) -> Receipt:
    """A whole receipt."""
    known: dict[str, Any] = {
        "run": "01RUN",
        "plan": "PLAN.md",
        "branch": "bridle/01run",
        "verdict": verdict,
        "tasks": list(tasks),
        "commits": [one["commit"] for one in tasks if one["commit"]],
        "iterations": sum(one["iterations"] for one in tasks),
        "cost_usd": 0.25,
        "verified_usd": 0.25,
        "wasted_usd": 0.0,
        "input_tokens": 12345,
        "output_tokens": 67,
        "seconds": 127.0,
        "limits": LIMITS,
        "resume": "bridle resume 01RUN",
        "undo": "git checkout main && git branch -D bridle/01run",
        "merge": "git checkout main && git merge bridle/01run",
    }
    return Receipt.from_json(known | more)
