"""Detect whether this process runs in a container or another sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

# Files that container engines add to their containers.
_FILES = {"/.dockerenv": "docker", "/run/.containerenv": "podman", "/.singularity.d": "singularity"}


def detect_sandbox(environment: Mapping[str, str]) -> str | None:
    """Return the name of the sandbox; None where none was detected."""
    if environment.get("IS_SANDBOX") == "1":
        return "IS_SANDBOX"
    if environment.get("container"):
        return environment["container"]
    return next((name for path, name in _FILES.items() if Path(path).exists()), None)
