"""Skills and commands: documents that a model can call by name, and a user by `/name`.

They come from, in this order (of two with one name the first is used):

    <config>/skills/*/SKILL.md          the user's skills
    .claude/skills/*/SKILL.md           the project's: the working folder's, those above it in its repository, added
    .claude/library/**/*.md             documents that skillsets are made of; each is a skill by itself, too
    .claude/skillsets/**/*.md|yaml|json several skills under one name: `skills:` lists them
    .claude/commands/**/*.md            the project's commands, then the user's
    <plugin>/commands, <plugin>/skills  those of plugins, named plugin:name

Nothing is read but their first lines, and a name is looked up in a table: it never becomes a path.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from bridle.agent.skills import skill_files
from bridle.agent.skills.skill_document import Kind, Plugin, Skill, Source, read_skill
from bridle.agent.skills.skill_files import SkillFile
from bridle.ground.git_folder import folders_up_to_top

# Each document is told to the model by one line, which need not be longer than a paragraph.
DESCRIPTION_CHARACTERS = 1536

# All lines together: a hundred skills with a sentence each, and about two percent of a model's memory.
LISTING_CHARACTERS = 16_000


class Skills:
    """Everything that can be called in a session."""

    def __init__(self, skills: Iterable[Skill], plugins: Sequence[Plugin] = (), warnings: Sequence[str] = ()) -> None:
        self._skills: dict[str, Skill] = {}
        for skill in skills:
            self._skills.setdefault(skill.name, skill)
        self._titles = {skill.title: skill for skill in reversed(self._skills.values()) if skill.title}
        self._plugins = tuple(plugins)
        self.warnings = tuple(warnings)

    def find(self, name: str) -> Skill | None:
        """The skill of that name, with or without the slash; or the one that gives itself that name."""
        name = name.strip().removeprefix("/")
        return self._skills.get(name) or self._titles.get(name)

    def all(self) -> list[Skill]:
        """Every skill, in the order in which they are told."""
        return list(self._skills.values())

    def names(self) -> list[str]:
        """What the first event calls skills."""
        shown = (skill for skill in self._skills.values() if skill.kind != "command")
        return [skill.name for skill in shown if skill.for_user and skill.is_described]

    def slash_commands(self) -> list[str]:
        """What a user can call by `/name`."""
        return [skill.name for skill in self._skills.values() if skill.for_user]

    def commands(self) -> list[dict[str, str]]:
        """The same, as a host is told."""
        return [
            {"name": skill.name, "description": skill.description, "argumentHint": skill.argument_hint}
            for skill in self._skills.values()
            if skill.for_user
        ]

    def plugins(self) -> list[dict[str, str]]:
        """The plugins, as the first event tells them."""
        return [{"name": one.name, "path": str(one.path), "source": f"{one.name}@inline"} for one in self._plugins]

    def listing(self, limit_characters: int = LISTING_CHARACTERS) -> str | None:
        """A line for each skill that the model may call, within the limit; None when there is none."""
        told = [skill for skill in self._skills.values() if skill.for_model]
        share = limit_characters
        lines = [_line(skill, share) for skill in told]
        while sum(map(len, lines)) + len(lines) > limit_characters and share:
            share = share // 2 if share > 20 else 0
            lines = [_line(skill, share) for skill in told]
        while lines and sum(map(len, lines)) + len(lines) > limit_characters:
            lines = lines[: len(lines) // 2]
        if len(lines) < len(told):
            lines.append(f"(and {len(told) - len(lines)} more that there is no room to name)")
        return "\n".join(lines) or None


def discover_skills(
    cwd: Path,
    config_folder: Path,
    *,
    plugin_folders: Sequence[Path] = (),
    folders: Sequence[Path] = (),
    sources: Sequence[str] | None = None,
) -> Skills:
    """Find every skill; `folders` are added ones, `sources` leaves out those of the user or the project."""
    desk = _Desk()
    with_user = sources is None or "user" in sources
    projects = [*folders_up_to_top(cwd), *folders] if sources is None or "project" in sources else []
    trees = [tree for project in projects if (tree := project / ".claude").is_dir()]
    if with_user:
        desk.take("skill", "user", skill_files.skills_in(config_folder / "skills"))
    for tree in trees:
        desk.take("skill", "project", skill_files.skills_in(tree / "skills"))
    for tree in trees:
        desk.take("skill", "project", skill_files.documents_in(tree / "library"))
    for tree in trees:
        documents = skill_files.documents_in(tree / "skillsets", (".md", ".yaml", ".yml", ".json"))
        desk.take("skillset", "project", documents)
    for tree in trees:
        desk.take("command", "project", skill_files.documents_in(tree / "commands"))
    if with_user:
        desk.take("command", "user", skill_files.documents_in(config_folder / "commands"))
    plugins = [Plugin(_plugin_name(folder), folder) for folder in plugin_folders if folder.is_dir()]
    for plugin in plugins:
        desk.take("command", "plugin", skill_files.documents_in(plugin.path / "commands"), plugin)
        desk.take("skill", "plugin", skill_files.skills_in(plugin.path / "skills"), plugin)
    return Skills(desk.found, plugins, desk.warnings)


class _Desk:
    """Reads the first lines of what was found."""

    def __init__(self) -> None:
        self.found: list[Skill] = []
        self.warnings: list[str] = []

    def take(self, kind: Kind, source: Source, found: Iterable[SkillFile], plugin: Plugin | None = None) -> None:
        for one in found:
            skill, warning = read_skill(one, kind, source, plugin)
            if skill is not None:
                self.found.append(skill)
            if warning is not None:
                self.warnings.append(warning)


def _plugin_name(folder: Path) -> str:
    text = skill_files.read_head(folder / ".claude-plugin" / "plugin.json")
    try:
        name = json.loads(text or "{}").get("name")
    except (ValueError, AttributeError, RecursionError):
        name = None
    return name if isinstance(name, str) and name.strip() else folder.name


def _line(skill: Skill, limit_characters: int) -> str:
    limit = min(DESCRIPTION_CHARACTERS, limit_characters)
    text = skill.description
    if len(text) > limit:
        text = text[: limit - 1].rstrip() + "…" if limit > 1 else ""
    return f"- {skill.name}: {text}" if text else f"- {skill.name}"
