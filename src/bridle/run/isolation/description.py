"""What a sandboxed program may see and change. Values, and how they are found for a working copy."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from bridle.errors import DiskError
from bridle.ground import disk, git_folder, home
from bridle.run.isolation import agent_state, git_view, home_view, program_view
from bridle.run.isolation.agent_state import OWN_AGENT, StateFolder
from bridle.run.isolation.real_paths import real
from bridle.run.isolation.sandbox_rules import SandboxRules

DEFAULT_RULES = SandboxRules()
# Of Bridle's home: the login of our own agent, and the settings files of repositories that count for it.
_VISIBLE_OF_BRIDLE = ("agent-token.json", "trust.json")

# Of Bridle's own state: written from outside while the agent runs.
READ_ONLY_AT_WORK = (".a5c", ".ralph", "bridle.toml")

# In Bridle's home: the caches of sandboxed programs, for each repository.
CACHES_FOLDER = "caches"
# In the same folder: the repositories whose objects a clone uses.
_ALTERNATES = "alternates"
_ALTERNATES_LIMIT_BYTES = 64 * 1024

# They name a file of certificates. A bundle of all public authorities has 250 KB.
_AUTHORITY_VARIABLES = (
    *("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("PIP_CERT", "CARGO_HTTP_CAINFO"),
)
_AUTHORITIES_LIMIT_BYTES = 4 * 1024 * 1024


class Isolation(Struct, frozen=True):
    """What a program in the sandbox may see and change; everything else is read-only."""

    work: Path
    """The working copy: writable."""
    home: Path
    git: Path | None = None
    """The folder of the repository, or None."""
    worktree: Path | None = None
    """The folder of the worktree in it, if the working copy is a linked worktree."""
    read_only: tuple[Path, ...] = ()
    """Files and folders of the working copy that must not change."""
    writable: tuple[Path, ...] = ()
    results: tuple[Path, ...] = ()
    """Writable too, though below what is read-only: where a command writes its result."""
    refusals: Path | None = None
    """The file for commands that Bridle refuses inside."""
    hidden: tuple[Path, ...] = ()
    """Paths that cannot be read or listed."""
    private: tuple[Path, ...] = ()
    """Shown as empty: a program can write to such a folder, and it ends with it."""
    visible: tuple[Path, ...] = ()
    """Read-only, though below a hidden folder: toolchains, the program itself, and the folders of PATH."""
    caches: tuple[tuple[Path, Path], ...] = ()
    """Folders of the home, each with the folder of Bridle that is shown instead: writable, and kept."""
    state: tuple[StateFolder, ...] = ()
    entries: tuple[Path, ...] | None = None
    """What of the home is shown; None shows the folder itself, in which nothing can be mounted that is missing."""
    names: tuple[Path, ...] = ()
    """Paths as variables and the user name them: the links in them exist in the sandbox too."""
    variables: Mapping[str, str] = {}
    """Variables with which the agent writes its sessions to where they are kept."""
    has_network: bool = True


def describe(
    work: Path,
    environment: Mapping[str, str],
    *,
    agent: str | None = "claude",
    program: str | None = None,
    rules: SandboxRules = DEFAULT_RULES,
    read_only: tuple[Path, ...] = (),
    results: tuple[Path, ...] = (),
    has_network: bool = True,
) -> Isolation:
    """Describe the isolation of a program that works in a folder, from what is on the disk now.

    The whole working copy of that folder is writable. `agent` is the program's dialect, None for a check.
    """
    folder = Path(real(work))
    top = git_folder.repository_top(folder) or folder
    home_name = Path(environment.get("HOME") or os.path.expanduser("~"))
    user = Path(real(home_name))
    own, common = _git_folders(top)
    writable = _expand(rules.writable, user)
    protected = [place / name for place in (top, folder) for name in READ_ONLY_AT_WORK]
    protected += [path for path in _own_environment() if path.is_relative_to(top)]
    secrets = [*(user / name for name in home_view.HIDDEN), home.bridle_home(environment)]
    hidden = (*secrets, *agent_state.state_of_others(agent, user, environment), *_expand(rules.hidden, user))
    states = tuple(agent_state.state_folders(agent, folder, user, environment))
    # No link to them counts, and none in what an agent can write.
    excluded = [Path(real(path)) for path in (*hidden, top, *writable)]
    borrowed = _borrowed(common, environment, states)
    listed = [
        *_visible(agent, user, environment, rules),
        *program_view.visible_programs(environment, program, user, excluded=excluded),
        *(path for path in (*borrowed, *_authorities(environment)) if _may_be_shown(path, user, excluded)),
    ]
    visible = [path for path in dict.fromkeys(listed) if os.path.lexists(path)]
    is_private = home_view.can_be_private(user) and not user.is_relative_to(top)
    found = {user / name: name.replace("/", "-") for name in home_view.caches(user, visible, is_private=is_private)}
    sessions = tuple(_sessions(agent, states, common or top, environment))
    caches = (*_caches(common or top, user, environment, found, (top, *writable)), *sessions)
    shown = {*visible, *writable, *(state.path for state in states), *(path for path, _ in caches), top}
    private = () if user.is_relative_to(top) else tuple(_private(user, shown))
    return Isolation(
        work=top,
        home=user,
        git=common,
        worktree=own if own != common else None,
        read_only=tuple(dict.fromkeys((*protected, *read_only))),
        writable=tuple(writable),
        results=results,
        hidden=hidden,
        private=(*private, *(home_view.new_folders(user) if is_private else ())),
        entries=tuple(path for path in home_view.entries(user) if path not in private) if is_private else None,
        visible=tuple(path for path in visible if not path.is_relative_to(top)),
        caches=caches,
        state=states,
        variables=agent_state.session_variables(agent, sessions[0][0]) if sessions else {},
        names=(
            *_names(home_name, environment, program),
            *program_view.names_of_programs(environment, program, user, excluded=excluded),
        ),
        has_network=has_network,
    )


def _own_environment() -> tuple[Path, ...]:
    """Return where the Python is that runs Bridle: what it imports at its next start runs outside of the sandbox."""
    return tuple(Path(real(path)) for path in dict.fromkeys((sys.prefix, sys.base_prefix)))


def _names(home_name: Path, environment: Mapping[str, str], program: str | None) -> Iterator[Path]:
    yield home_name
    named = [environment.get("CLAUDE_CONFIG_DIR", ""), program or "", *program_view.path_folders(environment)]
    yield from (Path(path) for path in named if os.path.isabs(path))


def _private(user: Path, shown: Collection[Path]) -> Iterator[Path]:
    """Yield the entries of a home that are hidden; a link may lead to what is shown."""
    targets = {real(path) for path in shown}
    yield from (path for path in home_view.hidden(user) if real(path) not in targets)


def _borrowed(
    repository: Path | None, environment: Mapping[str, str], states: tuple[StateFolder, ...]
) -> Iterator[Path]:
    """Yield what lies elsewhere and belongs to the repository, or to the settings of an agent."""
    if repository is not None:
        yield from _borrowed_objects(repository, environment)
    for folder in (state.path / name for state in states for name in state.visible):
        # Each skill and each command may be a link.
        yield from (folder / name for name in home_view.links_in(folder))


def _authorities(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the files of certificates that variables name, as those of a company; none that holds a private key."""
    for path in filter(os.path.isfile, (environment.get(name, "") for name in _AUTHORITY_VARIABLES)):
        try:
            content = disk.read_bounded(Path(path), _AUTHORITIES_LIMIT_BYTES)
        except DiskError:
            continue  # it cannot be read, or is too large for such a file
        if b"-BEGIN CERTIFICATE-" in content and b"PRIVATE KEY-" not in content:
            yield Path(path)


def _may_be_shown(path: Path, user: Path, excluded: Collection[Path]) -> bool:
    """Return whether no excluded folder, nor the home, is in a path or around it."""
    target = Path(real(path))
    is_around = any(other.is_relative_to(target) for other in (user, *excluded))
    return not is_around and not any(target.is_relative_to(other) for other in excluded)


def _borrowed_objects(repository: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the objects of other repositories that a clone uses, unless an agent can have named them.

    It can write to the folder of objects, so only those count that were there before the first agent.
    """
    record = _own_folder(repository, environment) / _ALTERNATES
    found = git_view.alternates(repository)
    known = disk.read_if_exists(record, _ALTERNATES_LIMIT_BYTES)
    if known is None:
        known = b"".join(os.fsencode(path) + b"\n" for path in found)
        disk.make_private_folder(record.parent)
        disk.write_atomic(record, known)
    yield from (path for path in found if os.fsencode(path) in known.splitlines())


def _own_folder(repository: Path, environment: Mapping[str, str]) -> Path:
    """Return the folder in Bridle's home for the sandboxes of a repository."""
    key = hashlib.sha256(os.fsencode(repository)).hexdigest()[:16]
    return home.bridle_home(environment) / CACHES_FOLDER / key


def _visible(agent: str | None, user: Path, environment: Mapping[str, str], rules: SandboxRules) -> Iterator[Path]:
    """Yield what is visible of the home and of Bridle's, though the folder that it is in is hidden."""
    yield from home_view.visible(user)
    yield from _expand(rules.visible, user)
    if agent == OWN_AGENT:
        yield from (home.bridle_home(environment) / name for name in _VISIBLE_OF_BRIDLE)
    yield from agent_state.visible_settings(agent, user)


def _caches(
    repository: Path, user: Path, environment: Mapping[str, str], found: Mapping[Path, str], excluded: Collection[Path]
) -> Iterator[tuple[Path, Path]]:
    """Yield caches with the folders of Bridle that take their place for a repository; make those."""
    top = _own_folder(repository, environment)
    replaced: dict[Path, str] = {**found}
    for name, path in home_view.named_caches(environment):
        is_around = any(folder.is_relative_to(path) for folder in (user, *excluded))
        if not is_around and not any(path.is_relative_to(other) for other in replaced):
            with contextlib.suppress(OSError):  # the program could not make it either
                path.mkdir(parents=True, exist_ok=True)
                replaced[path] = name
    for path, name in replaced.items():
        if not any(path.is_relative_to(folder) for folder in excluded):  # the user has chosen to share it
            disk.make_private_folder(top / name)
            yield path, top / name


def _sessions(
    agent: str | None, states: tuple[StateFolder, ...], repository: Path, environment: Mapping[str, str]
) -> Iterator[tuple[Path, Path]]:
    """Yield where an agent has its sessions, with the folder of Bridle that takes its place for a repository."""
    for path, place in agent_state.sessions_of(agent, states, _own_folder(repository, environment)):
        disk.make_private_folder(place)
        yield path, place


def _expand(paths: tuple[str, ...], user: Path) -> list[Path]:
    """Return paths of the settings: `~` is the home, and others are relative to it."""
    return [user / path.removeprefix("~/") for path in paths]


def _git_folders(top: Path) -> tuple[Path | None, Path | None]:
    """Return the git folder of a working copy, and the one that it shares with other worktrees."""
    own = git_folder.git_folder(top)
    if own is None or not os.path.isdir(own):
        return None, None
    return Path(real(own)), Path(real(git_folder.common_folder(own)))
