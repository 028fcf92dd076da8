"""One skill, command or skillset: what its first lines say about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import msgspec

from bridle.agent.skills import frontmatter, skill_files
from bridle.agent.skills.skill_files import SkillFile

Source = Literal["user", "project", "plugin"]
Kind = Literal["skill", "command", "skillset"]


class Skill(msgspec.Struct, frozen=True):
    """One document that can be called."""

    name: str
    kind: Kind
    source: Source
    path: Path
    folder: Path | None
    """Where its other files are; None for a document that stands alone."""
    description: str
    is_described: bool
    """Whether it describes itself; otherwise its first line stands in."""
    title: str | None = None
    """A second name, which it gives itself."""
    argument_hint: str = ""
    argument_names: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    model: str | None = None
    for_model: bool = True
    for_user: bool = True
    members: tuple[str, ...] = ()
    """The skills of a skillset."""
    plugin: Path | None = None


class Plugin(msgspec.Struct, frozen=True):
    """A plugin whose skills were found."""

    name: str
    path: Path


def read_skill(
    found: SkillFile, kind: Kind, source: Source, plugin: Plugin | None = None
) -> tuple[Skill | None, str | None]:
    """Read the first lines of a document; with it, or in its place, comes what is wrong with it."""
    text = skill_files.read_head(found.path)
    if text is None:
        return None, f"{found.path} could not be read"
    document = _document(found, text)
    warning = None if document.fault is None else f"{found.path}: {document.fault}"
    return _skill(found, kind, source, document, plugin), warning


def _document(found: SkillFile, text: str) -> frontmatter.Document:
    if found.path.suffix == ".md":
        return frontmatter.parse_document(text)
    if found.path.suffix == ".json":
        try:
            loaded: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            loaded = str(error)
    else:
        loaded = frontmatter.load_yaml(text)
    if isinstance(loaded, dict):
        return frontmatter.Document(loaded, "")
    return frontmatter.Document({}, "", f"it is not a list of fields: {loaded}")


def _skill(
    found: SkillFile, kind: Kind, source: Source, document: frontmatter.Document, plugin: Plugin | None
) -> Skill:
    fields = document.fields
    own = frontmatter.as_text(fields.get("description"))
    when = frontmatter.as_text(fields.get("when_to_use"))
    described = " - ".join(part for part in (own or _first_line(document.body), when) if part)
    return Skill(
        name=f"{plugin.name}:{found.name}" if plugin is not None else found.name,
        kind=kind,
        source=source,
        path=found.path,
        folder=found.path.parent if found.is_folder else None,
        description=described or found.name,
        is_described=own is not None or when is not None,
        title=_title(fields, found, kind),
        argument_hint=frontmatter.as_text(_hint(fields)) or "",
        argument_names=frontmatter.as_words(fields.get("arguments")),
        allowed_tools=frontmatter.as_words(fields.get("allowed-tools")),
        model=frontmatter.as_text(fields.get("model")),
        for_model=not frontmatter.as_flag(fields.get("disable-model-invocation"), default=False),
        for_user=frontmatter.as_flag(fields.get("user-invocable"), default=True),
        members=frontmatter.as_words(fields.get("skills")) if kind == "skillset" else (),
        plugin=plugin.path if plugin is not None else None,
    )


def _title(fields: dict[str, Any], found: SkillFile, kind: Kind) -> str | None:
    title = frontmatter.as_text(fields.get("name"))
    return title if kind != "command" and title != found.name else None


def _hint(fields: dict[str, Any]) -> object:
    """The hint as it was written: `[issue]` is a list to YAML and a hint to people."""
    hint = fields.get("argument-hint")
    return f"[{', '.join(map(str, hint))}]" if isinstance(hint, list) else hint


def _first_line(body: str) -> str:
    first = next((line for line in body.splitlines() if line.strip()), "")
    return first.lstrip("#").strip()
