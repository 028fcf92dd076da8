"""The receipt: what was done, what it cost, whether it may be believed, and how to go on. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from typing import Any

from bridle.loop.process.task_state import (
    DONE,
    FAILED,
    GOOD,
    GUARD_ONLY,
    NEEDS_YOU,
    PENDING,
    SATISFIED,
    UNVERIFIED,
    RunState,
    TaskState,
)
from bridle.loop.settings.limits import Limits

# What was worth its price: work that checks have seen.
VERIFIED = frozenset({DONE, GUARD_ONLY, SATISFIED})


def receipt(
    inputs: dict[str, Any], ledger: RunState, limits: Limits, *, seconds: float, workers: Collection[int] = ()
) -> dict[str, Any]:
    """The whole run, for people and programs; `workers` are those that have a worktree by now."""
    spent, tasks = ledger.spent, list(ledger.tasks.values())
    verified = sum(task.verified_usd for task in tasks)
    run = str(inputs.get("run") or "")
    branch, base = str(inputs.get("branch") or ""), str(inputs.get("base") or "")
    own = [str(folder) for folder in inputs.get("worktrees") or ()]  # that of the run, and of each worker
    worktrees = [folder for worker, folder in enumerate(own) if not worker or worker in workers]
    return {
        "run": run,
        "plan": inputs["plan"].get("source") or inputs["plan"].get("title"),
        "branch": branch,
        "verdict": verdict(tasks),
        "tasks": [_task(task) for task in tasks],
        "commits": [task.commit for task in tasks if task.commit],
        "iterations": ledger.iterations,
        "cost_usd": round(spent.cost_usd, 6),
        "verified_usd": round(verified, 6),
        "wasted_usd": round(max(0.0, spent.cost_usd - verified), 6),
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "seconds": round(seconds, 3),
        "limits": limits.as_json(),
        "resume": f"bridle resume {run}",
        **({"worktree": worktrees[0]} if worktrees else {}),
        "undo": _undo(inputs, worktrees),
        "merge": f"git checkout {inputs.get('came_from') or base} && git merge {branch}",
    }


def _undo(inputs: dict[str, Any], worktrees: list[str]) -> str:
    """The commands that take away what the run has left: its worktrees and its branch, or only that."""
    forget = f"git branch -D {inputs.get('branch') or ''}"
    if not worktrees:
        return f"git checkout {inputs.get('came_from') or inputs.get('base') or ''} && {forget}"
    return " && ".join([*(f"git worktree remove -f {shlex.quote(folder)}" for folder in worktrees), forget])


def verdict(tasks: list[TaskState]) -> str:
    """One word for all tasks: the worst of theirs."""
    verdicts = {task.verdict for task in tasks}
    if verdicts <= VERIFIED:
        return DONE
    if NEEDS_YOU in verdicts:
        return NEEDS_YOU
    if verdicts - GOOD - {PENDING}:
        return FAILED
    return PENDING if PENDING in verdicts else UNVERIFIED


def exit_code(document: dict[str, Any]) -> int:
    """What a run that ended with this receipt exits with."""
    verdicts = {task["verdict"] for task in document["tasks"]}
    if NEEDS_YOU in verdicts:
        return 4
    return 0 if verdicts <= VERIFIED else 1


def _task(task: TaskState) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "title": task.title,
        "verdict": task.verdict,
        "reason": task.reason,
        "iterations": task.iterations,
        "tries": task.tries,
        "checks": [
            {name: result.get(name) for name in ("command", "of", "exit_code", "seconds", "output")}
            for result in task.checks
        ],
        "commit": task.commit,
        "cost_usd": round(task.spent.cost_usd, 6),
        "verified_usd": round(task.verified_usd, 6),
        "wasted_usd": round(max(0.0, task.spent.cost_usd - task.verified_usd), 6),
        "input_tokens": task.spent.input_tokens,
        "output_tokens": task.spent.output_tokens,
        "seconds": round(task.spent.seconds, 3),
    }
    for name in ("undone", "reported", "denials", "folded", "cut"):
        if listed := getattr(task, name):
            shown[name] = list(listed)
    if task.question is not None:
        shown |= {"effect": task.effect, "question": task.question}
    return shown
