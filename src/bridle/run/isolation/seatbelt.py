"""The sandbox of macOS: a profile for `sandbox-exec`, from a description.

Rules go by real paths, and the last one that matches decides; a file that does not exist yet can be protected too. It
has no namespace for processes: what leaves its process group outlives the program.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from bridle.run.isolation.agent_state import StateFolder
from bridle.run.isolation.description import Isolation
from bridle.run.isolation.git_view import OUR_REFS, REPLACED_FILES, WRITABLE_FOLDERS

PROGRAM = "/usr/bin/sandbox-exec"

# What programs write to without leaving a trace.
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper")


_CACHE_VARIABLES = {
    "XDG_CACHE_HOME": (".cache", ""),
    "PIP_CACHE_DIR": (".cache", "/pip"),
    "UV_CACHE_DIR": (".cache", "/uv"),
    "GOCACHE": (".cache", "/go-build"),
    "GOMODCACHE": ("go/pkg", "/mod"),
    "npm_config_cache": (".npm", ""),
}


def command(isolation: Isolation, *, temporary: Path) -> tuple[str, ...]:
    """Return the start of the command line; `temporary` is the folder for temporary files, and TMPDIR must name it."""
    return (PROGRAM, "-p", profile(isolation, temporary=temporary))


def cache_variables(isolation: Isolation) -> dict[str, str]:
    """Return the variables with which package managers use the caches of Bridle: paths cannot be replaced here."""
    places = {os.path.relpath(path, isolation.home): str(place) for path, place in isolation.caches}
    return {variable: places[name] + end for variable, (name, end) in _CACHE_VARIABLES.items() if name in places}


def profile(isolation: Isolation, *, temporary: Path) -> str:
    """Return the profile."""
    return "\n".join(_rules(isolation, temporary)) + "\n"


def _rules(isolation: Isolation, temporary: Path) -> Iterator[str]:
    yield "(version 1)"
    yield "(allow default)"
    yield "(deny file-write*)"
    sessions = [state.path / name for state in isolation.state for name in _kept(state)]
    writable = [isolation.work, temporary, *sessions, *isolation.writable]
    yield f"(allow file-write* {_below(writable)} {' '.join(_literal(path) for path in _DEVICES)})"
    yield f"(allow file-write* {_regex('^/dev/fd/')})"
    if isolation.git is not None:
        yield f"(deny file-write* {_below([isolation.git])})"
        yield f"(allow file-write* {_below([isolation.git / 'objects', *_written_by_git(isolation)])})"
        yield f"(deny file-write* {_below([isolation.git / OUR_REFS])})"
    yield f"(deny file-write* {_below([*isolation.read_only])})"
    if isolation.results:
        yield f"(allow file-write* {_below(isolation.results)})"
    # Else a folder could be renamed, and what is protected in it replaced.
    parents = [path for path in (isolation.work, isolation.git, isolation.worktree) if path is not None]
    yield f"(deny file-write-unlink {' '.join(_literal(_real(path)) for path in parents)})"
    if isolation.private:
        # What is known of their names does no harm, and programs resolve the paths of what is visible in them.
        yield f"(deny file-read-data file-write* {_below(isolation.private)})"
    if isolation.hidden:
        yield f"(deny file-read* file-write* {_below(isolation.hidden)})"
    if isolation.visible:
        yield f"(allow file-read* {_below(isolation.visible)})"
    if isolation.caches:
        yield f"(allow file-read* file-write* {_below([place for _, place in isolation.caches])})"
    yield "(deny signal)"
    yield "(allow signal (target same-sandbox))"
    if not isolation.has_network:
        yield "(deny network*)"
        yield '(allow network* (local ip "localhost:*"))'
        yield '(allow network-outbound (remote ip "localhost:*"))'


def _kept(state: StateFolder) -> tuple[str, ...]:
    """Return what an agent may change of its state. No other folder can be shown for its sessions here."""
    return (*state.writable, *state.writable_files, *((state.sessions,) if state.sessions else ()))


def _written_by_git(isolation: Isolation) -> Iterator[Path]:
    """Return what git writes in the folder of a working copy; a file is replaced by its lock file."""
    own = isolation.worktree or isolation.git
    if own is not None:
        yield from (own / name for name in WRITABLE_FOLDERS)
        yield from (own / f"{name}{end}" for name in REPLACED_FILES for end in ("", ".lock"))


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
