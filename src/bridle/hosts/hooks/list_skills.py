"""List the skills and agents of a session by file names; no file is opened."""

from __future__ import annotations

import os

from bridle.ground.light.abc_names import Iterator

# More would bury the user's prompt.
NAMES_LIMIT = 10

# A folder with more entries is not a folder of skills; listing all of it could take seconds.
ENTRIES_LIMIT = 1000

# Names of skills and agents are short.
NAME_LIMIT_CHARACTERS = 64

AGENT_SUFFIX = ".md"

# The plugin that `bridle plugin install` writes contains this file; its host prefixes the skills with its name.
OWN_PLUGIN_FILE = ".bridle-plugin.json"
OWN_PREFIX = "bridle:"

# A folder of skills may also contain plugins, which have this folder: they are not skills.
PLUGIN_FOLDER = ".claude-plugin"


def list_skills(project: str, plugin_root: str | None) -> tuple[str, ...]:
    """Return `skill:NAME` and `agent:NAME`, the project's first, under the names that the host uses."""
    names: list[str] = []
    for folder in (os.path.join(project, ".claude"), plugin_root):
        if folder is not None:
            prefix = OWN_PREFIX if os.path.isfile(os.path.join(folder, OWN_PLUGIN_FILE)) else ""
            names += [f"skill:{prefix}{name}" for name in _skills(os.path.join(folder, "skills"))]
            names += [f"agent:{prefix}{name}" for name in sorted(_agents(os.path.join(folder, "agents")))]
    return tuple(dict.fromkeys(names))[:NAMES_LIMIT]


def _skills(folder: str) -> Iterator[str]:
    """Yield the first skills; only as many folders as needed are checked for being plugins."""
    names = sorted(entry.name for entry in _entries(folder) if not entry.is_file(follow_symlinks=False))
    skills = (name for name in names if not os.path.isdir(os.path.join(folder, name, PLUGIN_FOLDER)))
    return (name for name, _ in zip(skills, range(NAMES_LIMIT), strict=False))


def _agents(folder: str) -> Iterator[str]:
    names = (entry.name for entry in _entries(folder) if not entry.is_dir(follow_symlinks=False))
    return (name.removesuffix(AGENT_SUFFIX) for name in names if name.endswith(AGENT_SUFFIX))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            listed = [entry for entry, _ in zip(entries, range(ENTRIES_LIMIT), strict=False)]
    except (OSError, ValueError):  # ValueError: an invalid path
        return []
    return [entry for entry in listed if _is_name(entry.name)]


def _is_name(name: str) -> bool:
    """Return whether the name is safe in a message; the folder may be foreign."""
    return name.isprintable() and not name.startswith(".") and len(name) <= NAME_LIMIT_CHARACTERS and "," not in name
