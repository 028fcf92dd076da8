"""What a repository ships that counts only after the user has agreed to it, and the record of that.

The record is in Bridle's home folder: for each repository the digest of each kind. What has changed since then counts
no more, until the user agrees again.
"""

from __future__ import annotations

import os
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import clock, disk, own_runs, run_place
from bridle.ground.git_folder import find_common_folder, repository_top
from bridle.ground.git_index import tracked_names, tracks
from bridle.ground.home import bridle_home
from bridle.ground.light.abc_names import Mapping
from bridle.ground.light.quick_sha256 import sha256
from bridle.ground.lock import FileLock

LOCAL_SETTINGS = ".claude/settings.local.json"
HOOKS = "hooks"
SETTINGS = "settings"
LOOP = "bridle.toml"
PROMPTS = "prompts"
PROCESSES = "processes"
# The files and folders of each kind; those of processes are named by the runs that came with the repository.
KINDS: dict[str, tuple[str, ...]] = {
    HOOKS: (".a5c/hooks",),
    SETTINGS: (".claude/settings.json", LOCAL_SETTINGS, ".mcp.json"),
    LOOP: ("bridle.toml",),
    PROMPTS: ("prompts/iteration.md",),
    PROCESSES: (),
}
# More links than this lead nowhere, as in the kernel.
_LINKS_LIMIT = 1000
RUNS_FOLDER = ".a5c/runs"
# The keys of a settings file of the repository that need trust: they run programs, choose a server, or permit more.
# Of `permissions` the lists `allow` and `additionalDirectories` and the mode need it; `deny` and `ask` always count.
SETTINGS_AFTER_TRUST = frozenset(
    {
        "apiKeyHelper",
        "awsAuthRefresh",
        "awsCredentialExport",
        "dangerouslySkipPermissions",
        "enableAllProjectMcpServers",
        "enabledMcpjsonServers",
        "enabledPlugins",
        "env",
        "extraKnownMarketplaces",
        "hooks",
        "mcpServers",
        "otelHeadersHelper",
        "sandbox",
        "statusLine",
    }
)

# The variable with which the user agrees to the settings of all projects of a session.
TRUST_VARIABLE = "BRIDLE_TRUST_PROJECT"

TRUST_FILE = "trust.json"
LOCK_FILE = "trust.lock"
# Writing the file takes milliseconds; a process that holds the lock longer is stuck.
LOCK_SECONDS = 10.0
# Hooks and settings have a few kilobytes.
_LIMIT_BYTES = 64 * 1024 * 1024


def is_trusted(repository: Path, home: Path, kind: str = HOOKS) -> bool:
    """Return whether the user has agreed to what the repository has of this kind now."""
    if not os.access(home, os.X_OK):
        return False  # missing, or hidden in a sandbox
    agreed = _agreed(repository, home).get(kind)
    return agreed is not None and agreed == digest(repository, kind, home)


def are_settings_trusted(folder: Path, environment: Mapping[str, str], config_folder: Path) -> bool:
    """Return whether the settings of Claude Code in a folder count: the user agreed here, or in Claude Code itself."""
    if environment.get(TRUST_VARIABLE) == "1" or is_trusted(folder, bridle_home(environment), SETTINGS):
        return True
    names = {str(folder), _name(folder)}
    return any(names & _accepted(register) for register in claude_registers(environment, config_folder))


def claude_registers(environment: Mapping[str, str], config_folder: Path) -> tuple[Path, ...]:
    """Return the files in which Claude Code lists folders: in its settings folder, or beside the default one."""
    home = environment.get("HOME")
    is_default = home and not environment.get("CLAUDE_CONFIG_DIR")
    inside = config_folder / ".claude.json"
    return (inside, Path(home) / ".claude.json") if home and is_default else (inside,)


def is_local_file_shipped(folder: Path) -> bool:
    """Return whether `settings.local.json`, which is the user's own, is in fact part of the repository.

    It is if git tracks the file, one of the links that lead to it, or what they lead to. Outside of a repository it may
    have come with an archive.
    """
    top = repository_top(folder)
    if top is None:
        return True
    names = tracked_names(top)
    if names is None:
        return True
    tracked = {name.lower() for name in names}
    return any(name.lower() in tracked for name in _names_on_the_way(top, folder / LOCAL_SETTINGS))


def _names_on_the_way(top: Path, path: Path) -> list[bytes]:
    """Return the names, relative to a repository's top, of the links that lead to a file, and of the file."""
    real_top, found = os.path.realpath(top), []
    pending, place = str(path).split("/")[1:], "/"
    for _ in range(_LINKS_LIMIT):
        if not pending:
            break
        part = pending.pop(0)
        place = os.path.normpath(os.path.join(place, part))
        is_link = os.path.islink(place)
        if (is_link or not pending) and (inside := os.path.relpath(place, real_top)) and not inside.startswith("../"):
            found.append(os.fsencode(inside))
        if is_link:
            target = os.readlink(place)
            pending = [*target.split("/"), *pending]
            place = "/" if target.startswith("/") else os.path.dirname(place)
    return found


def grants(settings: Mapping[str, object]) -> list[str]:
    """Return the keys of a settings file that need trust; lists of `permissions` aside, which Claude Code ignores."""
    found = [key for key, value in settings.items() if key in SETTINGS_AFTER_TRUST and value not in (False, {}, [])]
    permissions = settings.get("permissions")
    return [*found, "defaultMode"] if isinstance(permissions, dict) and "defaultMode" in permissions else found


def _accepted(register: Path) -> set[str]:
    """Return the folders whose trust dialog the user has accepted in Claude Code."""
    try:
        document = disk.read_json(register)
    except DiskError:
        return set()
    projects = document.get("projects") if isinstance(document, dict) else None
    listed = projects.items() if isinstance(projects, dict) else ()
    return {str(name) for name, one in listed if isinstance(one, dict) and one.get("hasTrustDialogAccepted") is True}


def has_changed(repository: Path, home: Path, kind: str) -> bool:
    """Return whether the user had agreed to another state of this kind."""
    return kind in _agreed(repository, home) and not is_trusted(repository, home, kind)


def trust(repository: Path, home: Path, kinds: tuple[str, ...] = (HOOKS,)) -> None:
    """Record that the user agrees to what the repository has now."""
    disk.make_private_folder(home)
    with FileLock.hold(home / LOCK_FILE, holder="bridle trust", wait_seconds=LOCK_SECONDS):
        trusted = _read(home)
        before = _agreed(repository, home)
        agreed = {**before, **{kind: digest(repository, kind, home) for kind in kinds}}
        if before != agreed:
            trusted[_name(repository)] = {"trustedAt": clock.iso(clock.now()), "digests": agreed}
            disk.write_json_atomic(home / TRUST_FILE, {"repositories": trusted})


def revoke(repository: Path, home: Path) -> bool:
    """Remove the record of a repository; return whether there was one."""
    disk.make_private_folder(home)
    with FileLock.hold(home / LOCK_FILE, holder="bridle trust --revoke", wait_seconds=LOCK_SECONDS):
        trusted = _read(home)
        if trusted.pop(_name(repository), None) is None:
            return False
        disk.write_json_atomic(home / TRUST_FILE, {"repositories": trusted})
        return True


def shipped_files(repository: Path, kind: str, home: Path) -> list[Path]:
    """Return the files of a kind that the repository has, sorted."""
    found: list[Path] = [] if kind != PROCESSES else _process_files(repository, home)
    for name in KINDS[kind]:
        place = repository / name
        if place.is_dir():
            found += [Path(folder, file) for folder, _, files in os.walk(place) for file in files]
        elif os.path.lexists(place):
            found.append(place)
    return sorted(set(found))


def is_shipped_run(repository: Path, run: Path, home: Path) -> bool:
    """Return whether a run came with its repository: the user has not begun it here, or git tracks it."""
    file = run / "run.json"
    if not os.path.lexists(file):
        return False
    if not own_runs.is_recorded(run, home):
        return True
    try:
        if os.stat(file).st_uid != os.geteuid():
            return True
        name = os.fsencode(file.resolve().relative_to((repository_top(repository) or repository).resolve()))
    except (OSError, ValueError):
        return False  # outside of the repository
    return tracks(repository_top(repository) or repository, name)


def _process_files(repository: Path, home: Path) -> list[Path]:
    """Return the inputs of each run that came with the repository, its process, and the modules beside that."""
    found: list[Path] = []
    for run in sorted((repository / RUNS_FOLDER).glob("*/run.json")):
        if not is_shipped_run(repository, run.parent, home):
            continue
        found += [path for path in (run.with_name(name) for name in own_runs.FILES) if os.path.lexists(path)]
        try:
            document = disk.read_json(run)
        except DiskError:
            continue  # a run that cannot be read is not loaded
        entry = document.get("entrypoint") if isinstance(document, dict) else None
        path = entry.get("importPath") if isinstance(entry, dict) else None
        if isinstance(path, str):
            for process in dict.fromkeys(run_place.process_files(run.parent, path)):
                found += [file for file in (process, *process.parent.glob("*.py")) if file.is_file()]
    return found


def digest(repository: Path, kind: str, home: Path) -> str:
    """Return the digest of the names, modes and contents of all files of a kind."""
    total = sha256()
    for path in shipped_files(repository, kind, home):
        total.update(os.fsencode(os.path.relpath(path, repository)) + b"\0")
        try:
            content = disk.read_bounded(path, _LIMIT_BYTES)
            is_program = os.access(path, os.X_OK)
        except DiskError:
            content, is_program = os.urandom(16), False  # what cannot be read is like no state that was agreed to
        total.update(b"%d %d\0" % (is_program, len(content)) + content)
    return f"sha256:{total.hexdigest()}"


def _name(repository: Path) -> str:
    """Return the name of a folder in the record: in a linked worktree, that of the folder in the main one."""
    folder = repository.resolve()
    top, common = repository_top(folder), find_common_folder(folder)
    if top is None or common is None or common.name != ".git":
        return str(folder)
    return str(common.parent / folder.relative_to(top))


def _agreed(repository: Path, home: Path) -> dict[str, object]:
    """Return the digests of what the user has agreed to, by kind."""
    entry = _read(home).get(_name(repository))
    digests = entry.get("digests") if isinstance(entry, dict) else None
    return digests if isinstance(digests, dict) else {}


def _read(home: Path) -> dict[str, object]:
    value = disk.read_json(home / TRUST_FILE)
    if value is None:
        return {}
    trusted = value.get("repositories") if isinstance(value, dict) else None
    if not isinstance(trusted, dict):
        raise DiskError(
            f"{home / TRUST_FILE} must have an object 'repositories'",
            remedy="Move it away and trust the repositories again: bridle trust",
        )
    return trusted
