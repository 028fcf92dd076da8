"""Skills and agents that a session could use, by the names in their folders: nothing is opened."""

from __future__ import annotations

import os

from bridle.ground.light.abc_names import Iterator

# More would push the person's own words out of sight.
FOUND_LIMIT = 10

# A folder with more names than this is not one of skills; listing it whole could take seconds.
LISTED_LIMIT = 1000

# Names of skills and agents are short; anything longer is not meant to be read.
NAME_LIMIT_CHARACTERS = 64

AGENT_SUFFIX = ".md"

# The plugin that `bridle plugin install` wrote has this file in it, and its host puts its name before its skills.
OWN_MARK = ".bridle-plugin.json"
OWN_PREFIX = "bridle:"

# A folder of skills may also hold whole plugins, which have this in them: such a one is no skill.
PLUGIN_MARK = ".claude-plugin"


def discover(project: str, plugin_root: str | None) -> tuple[str, ...]:
    """`skill:NAME` and `agent:NAME`, those of the project first; a plugin's by the name that its host gives them."""
    found: list[str] = []
    for folder in (os.path.join(project, ".claude"), plugin_root):
        if folder is not None:
            owner = OWN_PREFIX if os.path.isfile(os.path.join(folder, OWN_MARK)) else ""
            found += [f"skill:{owner}{name}" for name in _skills(os.path.join(folder, "skills"))]
            found += [f"agent:{owner}{name}" for name in sorted(_documents(os.path.join(folder, "agents")))]
    return tuple(dict.fromkeys(found))[:FOUND_LIMIT]


def _skills(folder: str) -> Iterator[str]:
    """The first names of skills; as many are looked into as are told of, and the plugins among them."""
    names = sorted(entry.name for entry in _listed(folder) if not entry.is_file(follow_symlinks=False))
    skills = (name for name in names if not os.path.isdir(os.path.join(folder, name, PLUGIN_MARK)))
    return (name for name, _ in zip(skills, range(FOUND_LIMIT), strict=False))


def _documents(folder: str) -> Iterator[str]:
    names = (entry.name for entry in _listed(folder) if not entry.is_dir(follow_symlinks=False))
    return (name.removesuffix(AGENT_SUFFIX) for name in names if name.endswith(AGENT_SUFFIX))


def _listed(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            seen = [entry for entry, _ in zip(entries, range(LISTED_LIMIT), strict=False)]
    except (OSError, ValueError):  # ValueError: a path that no file can have
        return []
    return [entry for entry in seen if _is_name(entry.name)]


def _is_name(name: str) -> bool:
    """Whether it can stand in a sentence; the folder may be anybody's."""
    return name.isprintable() and not name.startswith(".") and len(name) <= NAME_LIMIT_CHARACTERS and "," not in name
