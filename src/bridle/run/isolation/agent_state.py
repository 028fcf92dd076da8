"""What an agent sees of its own state in the user's home, and the little of it that it may change there.

The user's next session runs or reads whatever is in such a folder: settings, hooks, skills, permissions in a database,
queued prompts. So only what is listed here is kept, and all else that an agent writes there ends with the sandbox.
Sessions of agents that store those of all projects together are kept in Bridle's home, for each repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from bridle.run.isolation import home_view
from bridle.run.isolation.real_paths import real
from bridle.wire.project_folder import project_folder_name

OWN_AGENT = "bridle-agent"
CLAUDE_LIKE = ("claude", OWN_AGENT)

# Programs of the user that hooks, notifications and status lines run.
_SCRIPTS = ("hooks", "scripts", "bin", "*.sh", "*.py", "*.js", "*.cjs", "*.mjs", "*.ts")

# Of Claude Code's state: what it reads, with the scripts of hooks and status lines and what CLAUDE.md imports. It may
# write only its own sessions and, when it renews its login, that: into the file, since a mount cannot be replaced.
_VISIBLE_OF_CLAUDE = (
    *(".claude.json", "settings.json", "settings.local.json", "keybindings.json", "*.md", "agents", "commands"),
    *("plugins", "skills", "rules", "output-styles", "statsig", "local", *_SCRIPTS),
)


class StateFolder(Struct, frozen=True):
    """A folder of an agent's state: only the visible entries are in it, and only the writable ones are kept."""

    path: Path
    visible: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    """Folders; they are made where they do not exist."""
    writable_files: tuple[str, ...] = ()
    sessions: str = ""
    """The folder of its sessions, for which Bridle has one of its own."""


class _Layout(Struct, frozen=True):
    """Where an agent other than Claude Code has its state, and what counts in it. `*` matches any name."""

    folder: str
    """Below the home."""
    variable: str = ""
    """The environment variable that names another folder."""
    below_variable: str = ""
    visible: tuple[str, ...] = ()
    """Settings: read-only."""
    logins: tuple[str, ...] = ()
    """Files that the agent writes when it renews a login, as Claude Code does."""
    sessions: str = ""


_LAYOUTS: Mapping[str, tuple[_Layout, ...]] = {
    "codex": (
        _Layout(
            ".codex",
            "CODEX_HOME",
            visible=(
                *("*.toml", "*.md", "hooks.json", ".env", "installation_id", "prompts", "rules", "skills", "agents"),
                *("plugins", "themes", *_SCRIPTS),
            ),
            logins=("auth.json", "auth.lock", ".credentials.json"),
            sessions="sessions",
        ),
    ),
    "gemini": (
        _Layout(
            ".gemini",
            "GEMINI_CLI_HOME",
            ".gemini",
            visible=(
                *("settings.json", "trustedFolders.json", "keybindings.json", "google_accounts.json", "*.md", ".env"),
                *("installation_id", "extension_integrity.json", "acknowledgments", "commands", "extensions", "themes"),
                *("policies", "skills", "agents", *_SCRIPTS),
            ),
            logins=("oauth_creds.json", "gemini-credentials.json", "mcp-oauth-tokens*.json", "a2a-oauth-tokens*.json"),
            sessions="tmp",
        ),
    ),
    "opencode": (
        _Layout(
            ".local/share/opencode",
            "XDG_DATA_HOME",
            "opencode",
            visible=("plugin", "bin"),
            logins=("auth.json", "mcp-auth.json"),
            sessions="sessions",
        ),
        _Layout(".local/state/opencode", "XDG_STATE_HOME", "opencode", visible=("model.json", "kv.json")),
    ),
}

# What an agent reads besides, in the user's home.
_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "claude": (".claude.json",),
    OWN_AGENT: (".claude.json",),
    "opencode": (".config/opencode", ".opencode"),
}

# Of these an agent that fails if it cannot write there: OpenCode puts a `.gitignore` beside its settings.
_WRITES_BESIDE_SETTINGS = ("opencode",)

# OpenCode has its sessions in a database beside its login: this variable moves it into the folder for sessions.
_DATABASE = "OPENCODE_DB"
_DATABASE_NAME = "opencode.db"


def state_folders(agent: str | None, work: Path, user: Path, environment: Mapping[str, str]) -> Iterator[StateFolder]:
    """Yield the folders of an agent that works in a folder; make those that are missing, as the agent would."""
    if agent in CLAUDE_LIKE:
        yield _claude_state(work, user, environment)
    for layout in _LAYOUTS.get(agent or "", ()):
        path = _place(layout, user, environment)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)  # in a read-only home the sandbox could not show it
        yield StateFolder(
            path,
            home_view.matching(path, layout.visible),
            writable_files=home_view.matching(path, layout.logins),
            sessions=layout.sessions,
        )
    if agent in _WRITES_BESIDE_SETTINGS:
        for folder in (Path(real(user / name)) for name in _SETTINGS[agent]):
            if folder.is_dir():
                yield StateFolder(folder, home_view.matching(folder, ("*",)))


def state_of_others(agent: str | None, user: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders of agents with their logins and sessions, but not those of the program itself."""
    if agent not in CLAUDE_LIKE:
        yield from (_claude_folder(user, environment), user / ".claude", user / ".claude.json")
    for other, layouts in _LAYOUTS.items():
        if other != agent:
            yield from (_place(layout, user, environment) for layout in layouts)


def visible_settings(agent: str | None, user: Path) -> list[Path]:
    """Return what an agent reads outside of its state."""
    return [user / name for name in _SETTINGS.get(agent or "", ())]


def sessions_of(agent: str | None, states: tuple[StateFolder, ...], folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yield where an agent has its sessions, with the folder below Bridle's own `folder` that is shown there."""
    for state in states:
        if state.sessions:
            yield state.path / state.sessions, folder / f"sessions-{agent}"


def session_variables(agent: str | None, sessions: Path) -> dict[str, str]:
    """Return the variables with which an agent has its sessions in a folder."""
    return {_DATABASE: str(sessions / _DATABASE_NAME)} if agent == "opencode" else {}


def _place(layout: _Layout, user: Path, environment: Mapping[str, str]) -> Path:
    named = environment.get(layout.variable, "")
    return Path(real(Path(named, layout.below_variable) if os.path.isabs(named) else user / layout.folder))


def _claude_folder(user: Path, environment: Mapping[str, str]) -> Path:
    return Path(real(environment.get("CLAUDE_CONFIG_DIR") or user / ".claude"))


def _claude_state(work: Path, user: Path, environment: Mapping[str, str]) -> StateFolder:
    folder = _claude_folder(user, environment)
    visible = home_view.matching(folder, _VISIBLE_OF_CLAUDE)
    return StateFolder(folder, visible, (f"projects/{project_folder_name(str(work))}",), (".credentials.json",))
