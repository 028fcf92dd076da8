"""Finds skills and commands: documents that the model calls by name, and the user by `/name`.

They come from these places; of two with the same name the first is used:

    <config>/skills/*/SKILL.md          the user's skills
    .claude/skills/*/SKILL.md           the project's: of the working directory, those above it in the repository, added
    .claude/library/**/*.md             documents that skillsets are made of; each is also a skill
    .claude/skillsets/**/*.md|yaml|json several skills under one name: `skills:` or `preload:` lists them, `advertise:`
                                        those to load on demand; skillsets:name if a skill has the same name
    .claude/commands/**/*.md            the project's commands, then the user's
    <plugin>/commands, <plugin>/skills  those of plugins, or where the manifest says, named plugin:name

Only their first lines are read, and names are looked up in a table: a name never becomes a path.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.agent.skills import skill_files
from bridle.agent.skills.skill_files import Kind, Skill, SkillFile, Source
from bridle.ground.git_folder import folders_up_to_top, leads_out

if TYPE_CHECKING:
    from bridle.agent.skills.plugins import Plugin

# The description of a skill in the listing for the model.
DESCRIPTION_CHARACTERS = 1536

# The whole listing: a hundred skills with a sentence each, about two percent of the context window.
LISTING_CHARACTERS = 16_000


class Skills:
    """The skills and commands of a session."""

    def __init__(
        self,
        skills: Iterable[Skill],
        plugins: Sequence[Plugin] = (),
        warnings: Sequence[str] = (),
        links_out: Sequence[str] = (),
    ) -> None:
        self._skills: dict[str, Skill] = {}
        for skill in skills:
            if skill.kind == "skillset" and skill.name in self._skills:
                skill = msgspec.structs.replace(skill, name=f"skillsets:{skill.name}")
            self._skills.setdefault(skill.name, skill)
        self._titles = {skill.title: skill for skill in reversed(self._skills.values()) if skill.title}
        self._plugins = tuple(plugins)
        self.warnings = tuple(warnings)
        self.links_out = tuple(links_out)
        """A line for each document that is not read because it is a link out of the repository."""
        self.faults = tuple(f"Ignoring the skillset {one.path}: {one.fault}" for one in skills if one.fault is not None)
        """A line for each skillset that cannot be used."""

    def find(self, name: str) -> Skill | None:
        """Return the skill of that name, with or without the slash, or with that title; `a/b` is also `a:b`."""
        name = name.strip().removeprefix("/")
        return self._skills.get(name) or self._titles.get(name) or self._skills.get(name.replace("/", ":"))

    def all(self) -> list[Skill]:
        """Return all skills, in the order of the listing."""
        return list(self._skills.values())

    def names(self) -> list[str]:
        """Return the `skills` of the first event."""
        shown = (skill for skill in self._skills.values() if skill.kind != "command")
        return [skill.name for skill in shown if skill.for_user and skill.is_described]

    def slash_commands(self) -> list[str]:
        """Return the names that a user can call by `/name`."""
        return [skill.name for skill in self._skills.values() if skill.for_user]

    def commands(self) -> list[dict[str, str]]:
        """Return the same with descriptions, for a host."""
        return [
            {"name": skill.name, "description": skill.description, "argumentHint": skill.argument_hint}
            for skill in self._skills.values()
            if skill.for_user
        ]

    def plugins(self) -> list[dict[str, str]]:
        """Return the `plugins` of the first event."""
        return [
            {"name": plugin.name, "path": str(plugin.path), "source": f"{plugin.name}@inline"}
            for plugin in self._plugins
        ]

    def listing(self, limit_characters: int = LISTING_CHARACTERS) -> str | None:
        """Return a line for each skill that the model may call, within the limit, or None."""
        listed = [skill for skill in self._skills.values() if skill.for_model]
        share = limit_characters
        lines = [_line(skill, share) for skill in listed]
        while sum(map(len, lines)) + len(lines) > limit_characters and share:
            share = share // 2 if share > 20 else 0
            lines = [_line(skill, share) for skill in listed]
        while lines and sum(map(len, lines)) + len(lines) > limit_characters:
            lines = lines[: len(lines) // 2]
        if len(lines) < len(listed):
            lines.append(f"(and {len(listed) - len(lines)} more, omitted for length)")
        return "\n".join(lines) or None


def discover_skills(
    cwd: Path,
    config_folder: Path,
    *,
    plugins: Sequence[Plugin] = (),
    folders: Sequence[Path] = (),
    sources: Sequence[str] | None = None,
    is_hidden: Callable[[str], bool] = lambda _path: False,
) -> Skills:
    """Find all skills, also in added `folders`; `sources` limits them to the user's or the project's.

    A project's skill that is a link to a file which a rule denies (`is_hidden`) is not read.
    """
    reader = _Reader(is_hidden)
    with_user = sources is None or "user" in sources
    projects = [*folders_up_to_top(cwd), *folders] if sources is None or "project" in sources else []
    trees = [tree for project in projects if (tree := project / ".claude").is_dir()]
    if with_user:
        reader.read("skill", "user", skill_files.skills_in(config_folder / "skills"))
    for tree in trees:
        reader.read_project("skill", tree, skill_files.skills_in(tree / "skills"))
    for tree in trees:
        reader.read_project("skill", tree, skill_files.documents_in(tree / "library"))
    for tree in trees:
        documents = skill_files.documents_in(tree / "skillsets", (".md", ".yaml", ".yml", ".json"))
        reader.read_project("skillset", tree, documents)
    for tree in trees:
        reader.read_project("command", tree, skill_files.documents_in(tree / "commands"))
    if with_user:
        reader.read("command", "user", skill_files.documents_in(config_folder / "commands"))
    for plugin in plugins:
        for path in plugin.commands:
            reader.read("command", "plugin", skill_files.documents_at(path), plugin)
        for path in plugin.skills:
            reader.read("skill", "plugin", skill_files.skills_at(path), plugin)
    return Skills(reader.skills, plugins, reader.warnings, reader.links_out)


class _Reader:
    """Reads the first lines of skill files."""

    def __init__(self, is_hidden: Callable[[str], bool]) -> None:
        self.skills: list[Skill] = []
        self.warnings: list[str] = []
        self.links_out: list[str] = []
        self._is_hidden = is_hidden

    def read_project(self, kind: Kind, tree: Path, files: Iterable[SkillFile]) -> None:
        """Read skills of a project's `.claude` folder, without those that are links out of its repository."""
        self.read(kind, "project", files, project=tree.parent)

    def read(
        self,
        kind: Kind,
        source: Source,
        files: Iterable[SkillFile],
        plugin: Plugin | None = None,
        project: Path | None = None,
    ) -> None:
        for file in files:
            from bridle.agent.skills.skill_document import read_skill  # late: most starts find no skill

            if project is not None and leads_out(file.path, project):
                self.links_out.append(f"Ignoring {file.path}: it is a link that leads out of the repository.")
                continue
            if project is not None and self._is_link_to_hidden(file.path, project):
                self.links_out.append(f"Ignoring {file.path}: it is a link to a file that a rule denies.")
                continue
            skill, warning = read_skill(file, kind, source, plugin)
            if skill is not None:
                self.skills.append(skill)
            if warning is not None:
                self.warnings.append(warning)

    def _is_link_to_hidden(self, path: Path, project: Path) -> bool:
        real = os.path.realpath(path)
        is_link = real != os.path.join(os.path.realpath(project), os.path.relpath(path, project))
        return is_link and self._is_hidden(real)


def _line(skill: Skill, limit_characters: int) -> str:
    limit = min(DESCRIPTION_CHARACTERS, limit_characters)
    text = skill.description
    if len(text) > limit:
        text = text[: limit - 1].rstrip() + "…" if limit > 1 else ""
    return f"- {skill.name}: {text}" if text else f"- {skill.name}"
