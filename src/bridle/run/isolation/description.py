"""What a sandboxed program may see and change. Values, and how they are found for a working copy."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from bridle.ground import git_folder, home
from bridle.run.isolation import home_view
from bridle.run.isolation.sandbox_rules import SandboxRules

DEFAULT_RULES = SandboxRules()
OWN_AGENT = "bridle-agent"
_CLAUDE_LIKE = ("claude", OWN_AGENT)
# Of Bridle's home: the login of our own agent, and the settings files of repositories that count for it.
_VISIBLE_OF_BRIDLE = ("agent-token.json", "trust.json")

# Of Bridle's own state: written from outside while the agent runs.
READ_ONLY_AT_WORK = (".a5c", ".ralph", "bridle.toml")

# In Bridle's home: the caches of sandboxed programs, for each repository.
CACHES_FOLDER = "caches"

# Of Claude Code's state: what it reads. It may write only its own sessions and, when it renews its login, that.
VISIBLE_OF_CLAUDE = (
    *(".claude.json", "settings.json", "CLAUDE.md", "agents", "commands", "plugins", "skills"),
    *("rules", "output-styles", "statsig"),
)

# The folder of the package `bridle`, which may be that of a checkout.
PACKAGES = str(Path(__file__).parents[3])

# Folders whose content a sandboxed program does not see: temporary files, sockets, the homes of other users.
PRIVATE_FOLDERS = ("/tmp", "/var/tmp", "/run", "/home")  # noqa: S108  # they are replaced by private ones

# The state of other agents, in the user's home: each folder, and what must not change in it, since the user's next
# session outside of the sandbox runs or reads it.
_STATE_OF_AGENT: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "codex": {".codex": ("config.toml", "AGENTS.md", "prompts", "hooks.json", "rules", "skills")},
    "gemini": {".gemini": ("settings.json", "GEMINI.md", "commands", "extensions", "hooks")},
    "opencode": {".local/share/opencode": ("plugin",), ".local/state/opencode": (), ".cache/opencode": ()},
}


# What an agent reads besides, in the user's home.
_SETTINGS_OF_AGENT: Mapping[str, tuple[str, ...]] = {
    "claude": (".claude.json",),
    OWN_AGENT: (".claude.json",),
    "opencode": (".config/opencode", ".opencode"),
}


class StateFolder(Struct, frozen=True):
    """A folder of an agent's state: only the visible entries are in it, and only the writable ones are kept."""

    path: Path
    visible: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    """Folders; they are made where they do not exist."""
    writable_files: tuple[str, ...] = ()


class Isolation(Struct, frozen=True):
    """What a program in the sandbox may see and change; everything else is read-only."""

    work: Path
    """The working copy: writable."""
    home: Path
    git: Path | None = None
    """The folder of the repository; None without one."""
    worktree: Path | None = None
    """The folder of the worktree in it, if the working copy is a linked worktree."""
    read_only: tuple[Path, ...] = ()
    """Files and folders of the working copy that must not change."""
    writable: tuple[Path, ...] = ()
    results: tuple[Path, ...] = ()
    """Writable too, though below what is read-only: where a command writes its result."""
    hidden: tuple[Path, ...] = ()
    """They cannot be read or listed."""
    private: tuple[Path, ...] = ()
    """Shown as empty: a program can write to such a folder, and it ends with it."""
    visible: tuple[Path, ...] = ()
    """Read-only, though below a hidden folder: toolchains, the program itself, and the folders of PATH."""
    caches: tuple[tuple[Path, Path], ...] = ()
    """Folders of the home, each with the folder of Bridle that is shown instead: writable, and kept."""
    state: tuple[StateFolder, ...] = ()
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
    folder = Path(os.path.realpath(work))
    top = git_folder.repository_top(folder) or folder
    user = Path(os.path.realpath(environment.get("HOME") or os.path.expanduser("~")))
    own, common = _git_folders(top)
    writable = _expanded(rules.writable, user)
    for state in _state_folders(agent, user, environment):
        state.mkdir(parents=True, exist_ok=True)  # in a read-only home the agent could not make it
        writable.append(state)
    protected = [place / name for place in (top, folder) for name in READ_ONLY_AT_WORK]
    secrets = [*(user / name for name in home_view.HIDDEN), home.bridle_home(environment)]
    visible = [*_visible(agent, user, environment, rules), *_program_folders(environment, program, user)]
    state_of_claude = (_claude_state(folder, user, environment),) if agent in _CLAUDE_LIKE else ()
    caches = tuple(_caches(common or top, user, environment, visible, writable))
    shown = {*visible, *writable, *(state.path for state in state_of_claude), *(path for path, _ in caches), top}
    is_home = top == user or top in user.parents
    return Isolation(
        work=top,
        home=user,
        git=common,
        worktree=own if own != common else None,
        read_only=tuple(dict.fromkeys((*protected, *read_only, *_protected_state(agent, user, environment)))),
        writable=tuple(writable),
        results=results,
        hidden=(*secrets, *_state_of_others(agent, user, environment), *_expanded(rules.hidden, user)),
        private=() if is_home else tuple(path for path in home_view.hidden(user) if path not in shown),
        visible=tuple(path for path in visible if not path.is_relative_to(top)),
        caches=caches,
        state=state_of_claude,
        has_network=has_network,
    )


def _visible(agent: str | None, user: Path, environment: Mapping[str, str], rules: SandboxRules) -> Iterator[Path]:
    """Yield what is visible of the home and of Bridle's, though the folder that it is in is hidden."""
    yield from home_view.visible(user)
    yield from _expanded(rules.visible, user)
    if agent == OWN_AGENT:
        yield from (home.bridle_home(environment) / name for name in _VISIBLE_OF_BRIDLE)
    yield from (user / name for name in _SETTINGS_OF_AGENT.get(agent or "", ()))


def _caches(
    repository: Path, user: Path, environment: Mapping[str, str], visible: Collection[Path], writable: Collection[Path]
) -> Iterator[tuple[Path, Path]]:
    """Yield the caches in a home with the folders of Bridle that take their place for a repository; make those."""
    key = hashlib.sha256(os.fsencode(repository)).hexdigest()[:16]
    top = home.bridle_home(environment) / CACHES_FOLDER / key
    found = {user / name: name.replace("/", "-") for name in home_view.caches(user, visible)}
    named = environment.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named) and os.path.isdir(named):
        found.setdefault(Path(named), "named")
    for path, name in found.items():
        if not any(path.is_relative_to(folder) for folder in writable):  # the user has chosen to share it
            (top / name).mkdir(mode=0o700, parents=True, exist_ok=True)
            yield path, top / name


def _state_of_others(agent: str | None, user: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders of agents with their logins and sessions, but not those of the program itself."""
    own = set(_state_folders(agent, user, environment))
    claude = Path(os.path.realpath(environment.get("CLAUDE_CONFIG_DIR") or user / ".claude"))
    others = [] if agent in _CLAUDE_LIKE else [claude, user / ".claude", user / ".claude.json"]
    for other in _STATE_OF_AGENT:
        others += [path for path in _state_folders(other, user, environment) if path not in own]
    yield from others


def _expanded(paths: tuple[str, ...], user: Path) -> list[Path]:
    """Return paths of the settings: `~` is the home, and others are relative to it."""
    return [user / path.removeprefix("~/") for path in paths]


def _state_folders(agent: str | None, user: Path, environment: Mapping[str, str]) -> list[Path]:
    if agent == "codex" and environment.get("CODEX_HOME"):
        return [Path(os.path.realpath(environment["CODEX_HOME"]))]
    return [user / folder for folder in _STATE_OF_AGENT.get(agent or "", {})]


def _protected_state(agent: str | None, user: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    names = tuple(_STATE_OF_AGENT.get(agent or "", {}).values())
    for folder, protected in zip(_state_folders(agent, user, environment), names, strict=True):
        yield from (folder / name for name in protected)


def _program_folders(environment: Mapping[str, str], program: str | None, user: Path) -> Iterator[Path]:
    """Return the folders of programs that are below a private folder, or below a hidden one of the home."""
    named = [] if program is None else [program, os.path.realpath(program)]
    folders = [
        *(folder for folder in environment.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)),
        *(os.path.dirname(path) for path in named),
        *(sys.prefix, sys.base_prefix),
        PACKAGES,
    ]
    for folder in dict.fromkeys(os.path.realpath(folder) for folder in folders):
        parent = os.path.dirname(folder)
        place = parent if os.path.isfile(os.path.join(parent, "pyvenv.cfg")) else folder
        if place.startswith(f"{user}/."):
            yield from _with_libraries(Path(place))
        elif any(place.startswith(private + "/") for private in PRIVATE_FOLDERS):
            yield Path(place)


def _with_libraries(place: Path) -> Iterator[Path]:
    """Yield a folder of programs in a hidden one of the home, and where its programs have their libraries."""
    before, modules, _ = f"{place}/".partition("/node_modules/")
    if modules:
        yield Path(before, "node_modules")
    else:
        yield place
        names = ("lib", "lib64", "libexec", "share", "include") if place.name == "bin" else ()
        yield from (place.with_name(name) for name in names)


def _claude_state(work: Path, user: Path, environment: Mapping[str, str]) -> StateFolder:
    folder = Path(os.path.realpath(environment.get("CLAUDE_CONFIG_DIR") or user / ".claude"))
    project = re.sub(r"[^A-Za-z0-9]", "-", str(work))
    return StateFolder(folder, VISIBLE_OF_CLAUDE, (f"projects/{project}",), (".credentials.json",))


def _git_folders(top: Path) -> tuple[Path | None, Path | None]:
    """Return the git folder of a working copy, and the one that it shares with other worktrees."""
    own = git_folder.git_folder(top)
    if own is None or not os.path.isdir(own):
        return None, None
    return Path(os.path.realpath(own)), Path(os.path.realpath(git_folder.common_folder(own)))
