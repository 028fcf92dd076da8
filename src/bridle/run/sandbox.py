"""Whether this machine looks like one that may be lost: a container, or one that says so itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

# Files that container engines put into what they start.
_MARKS = {"/.dockerenv": "docker", "/run/.containerenv": "podman", "/.singularity.d": "singularity"}


def detect(environment: Mapping[str, str]) -> str | None:
    """The sandbox that was detected, in one word; None where there is none to be seen."""
    if environment.get("IS_SANDBOX") == "1":
        return "IS_SANDBOX"
    if environment.get("container"):
        return environment["container"]
    return next((name for mark, name in _MARKS.items() if Path(mark).exists()), None)
