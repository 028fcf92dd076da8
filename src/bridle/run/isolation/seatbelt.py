"""The sandbox of macOS: a profile for `sandbox-exec`, from a description.

Rules go by real paths, and the last one that matches decides; a file that does not exist yet can be protected too. It
has no namespace for processes: what leaves its process group outlives the program.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from bridle.run.isolation.description import READ_ONLY_OF_GIT, Isolation

PROGRAM = "/usr/bin/sandbox-exec"

# What programs write to without leaving a trace.
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper")


def command(isolation: Isolation, *, temporary: Path) -> tuple[str, ...]:
    """Return the start of the command line; `temporary` is the folder for temporary files, and TMPDIR must name it."""
    return (PROGRAM, "-p", profile(isolation, temporary=temporary))


def profile(isolation: Isolation, *, temporary: Path) -> str:
    """Return the profile."""
    return "\n".join(_rules(isolation, temporary)) + "\n"


def _rules(isolation: Isolation, temporary: Path) -> Iterator[str]:
    yield "(version 1)"
    yield "(allow default)"
    yield "(deny file-write*)"
    sessions = [state.path / name for state in isolation.state for name in (*state.writable, *state.writable_files)]
    git = [] if isolation.git is None else [isolation.git]
    if isolation.git is not None and isolation.worktree is not None:
        git = [isolation.worktree, isolation.git / "objects"]
    writable = [isolation.work, temporary, *sessions, *isolation.writable, *git]
    yield f"(allow file-write* {_below(writable)} {' '.join(_literal(path) for path in _DEVICES)})"
    yield f"(allow file-write* {_regex('^/dev/fd/')})"
    protected = [*isolation.read_only]
    if isolation.git is not None:
        protected += [isolation.git / name for name in READ_ONLY_OF_GIT]
    yield f"(deny file-write* {_below(protected)})"
    # Else a folder could be renamed, and what is protected in it replaced.
    parents = [isolation.work, *git]
    yield f"(deny file-write-unlink {' '.join(_literal(_real(path)) for path in parents)})"
    if isolation.hidden:
        yield f"(deny file-read* file-write* {_below(isolation.hidden)})"
    yield "(deny signal)"
    yield "(allow signal (target same-sandbox))"
    if not isolation.has_network:
        yield "(deny network*)"
        yield '(allow network* (local ip "localhost:*"))'
        yield '(allow network-outbound (remote ip "localhost:*"))'


def _below(paths: list[Path] | tuple[Path, ...]) -> str:
    """Return the filter for files and folders with everything in them."""
    return " ".join(f"(subpath {_quote(_real(path))})" for path in paths)


def _literal(path: str) -> str:
    return f"(literal {_quote(path)})"


def _regex(pattern: str) -> str:
    return f'(regex #"{pattern}")'


def _real(path: Path) -> str:
    return os.path.realpath(path)


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
