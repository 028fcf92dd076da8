"""Names of the branch and the refs that a run creates in a repository. Pure."""

from __future__ import annotations

import hashlib

from bridle.ground import ids
from bridle.workspace.git import check_branch

KEPT = "refs/bridle/kept/"


def run_branch(run: str) -> str:
    return check_branch(f"bridle/{run.lower()}")


def task_slug(task: str) -> str:
    """Return a unique name of a task for files and refs."""
    digest = hashlib.sha256(task.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{ids.safe_name(task, limit=40).lower()}-{digest}"


def kept_ref(run: str, task: str, iteration: int) -> str:
    """Return the ref that keeps a task's work while no working copy has it."""
    return f"{KEPT}{ids.check_id(run.lower(), what='run')}/{task_slug(task)}-{iteration}"
