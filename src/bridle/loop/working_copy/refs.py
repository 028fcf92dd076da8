"""What a run calls what it leaves in a repository: its branch, and the refs of its tasks. Pure."""

from __future__ import annotations

import hashlib

from bridle.ground import ids
from bridle.workspace.git import check_branch

KEPT = "refs/bridle/kept/"


def branch_of(run: str) -> str:
    """The branch of a run."""
    return check_branch(f"bridle/{run.lower()}")


def slug_of(task: str) -> str:
    """A task in the name of a file or a ref; no two tasks have the same."""
    digest = hashlib.sha256(task.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{ids.safe_name(task, limit=40).lower()}-{digest}"


def kept_ref(run: str, task: str, iteration: int) -> str:
    """What keeps a task's work while it is in no working copy."""
    return f"{KEPT}{ids.check_id(run.lower(), what='run')}/{slug_of(task)}-{iteration}"
