"""Reads the first lines of a skill or command, and a skillset."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from bridle.agent.skills import frontmatter, skill_files
from bridle.agent.skills.plugins import Plugin
from bridle.agent.skills.skill_files import Kind, Skill, SkillFile, Source


class _Fields(msgspec.Struct, rename="kebab"):
    """The frontmatter of a skill as loaded: any value may have any type."""

    name: Any = None
    description: Any = None
    when_to_use: Any = msgspec.field(name="when_to_use", default=None)
    argument_hint: Any = None
    arguments: Any = None
    allowed_tools: Any = None
    model: Any = None
    disable_model_invocation: Any = None
    user_invocable: Any = None
    skills: Any = None
    preload: Any = None
    advertise: Any = None


def read_skill(
    file: SkillFile, kind: Kind, source: Source, plugin: Plugin | None = None
) -> tuple[Skill | None, str | None]:
    """Read what a document says about itself; return the skill and a warning, each of them if there is one."""
    # Half a mapping cannot be read.
    read = skill_files.read_head if file.path.suffix == ".md" else skill_files.read_text
    text = read(file.path)
    if text is None:
        return None, f"cannot read {file.path}"
    document = _document(file, text)
    warning = None if document.fault is None else f"{file.path}: {document.fault}"
    return _skill(file, kind, source, document, plugin), warning


def _document(file: SkillFile, text: str) -> frontmatter.Document:
    if file.path.suffix == ".md":
        return frontmatter.parse_document(text)
    if file.path.suffix == ".json":
        try:
            loaded: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            loaded = str(error)
    else:
        loaded = frontmatter.load_yaml(text)
    if isinstance(loaded, dict):
        return frontmatter.Document(loaded, "")
    return frontmatter.Document({}, "", f"it is not a mapping: {loaded}")


def _skill(file: SkillFile, kind: Kind, source: Source, document: frontmatter.Document, plugin: Plugin | None) -> Skill:
    # Other keys may be numbers, or text that is not valid Unicode, which msgspec refuses.
    known = {key: document.fields[key] for key in _Fields.__struct_encode_fields__ if key in document.fields}
    fields = msgspec.convert(known, _Fields)
    own = frontmatter.as_text(fields.description)
    when = frontmatter.as_text(fields.when_to_use)
    members, on_demand = _members(fields) if kind == "skillset" else ((), ())
    described = " - ".join(part for part in (own or _first_line(document.body), when) if part)
    name = _own_name(fields, file, plugin)
    contents = ", ".join([*members, *(name for name, _ in on_demand)])
    return Skill(
        name=f"{plugin.name}:{name}" if plugin is not None else name,
        kind=kind,
        source=source,
        path=file.path,
        folder=file.path.parent if file.is_folder else None,
        description=described or (f"skillset: {contents}" if contents else name),
        is_described=own is not None or when is not None,
        title=_title(fields, file, kind, plugin),
        argument_hint=frontmatter.as_text(_hint(fields.argument_hint)) or "",
        argument_names=frontmatter.as_words(fields.arguments),
        allowed_tools=frontmatter.as_words(fields.allowed_tools),
        model=frontmatter.as_text(fields.model),
        for_model=not frontmatter.as_flag(fields.disable_model_invocation, default=False),
        for_user=frontmatter.as_flag(fields.user_invocable, default=True),
        members=members,
        on_demand=on_demand,
        plugin=plugin.path if plugin is not None else None,
        fault=document.fault if file.path.suffix != ".md" else None,
    )


def _own_name(fields: _Fields, file: SkillFile, plugin: Plugin | None) -> str:
    """Return the name without that of the plugin; a folder that is one skill may say it itself."""
    title = frontmatter.as_text(fields.name)
    is_named = plugin is not None and file.path.parent in plugin.skills
    return skill_files.as_name(title) if is_named and title else file.name


def _members(fields: _Fields) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the skills that a skillset includes, and those that it names for use on demand with their descriptions."""
    included = dict.fromkeys([*frontmatter.as_words(fields.skills), *frontmatter.as_words(fields.preload)])
    entries = fields.advertise if isinstance(fields.advertise, list) else list(frontmatter.as_words(fields.advertise))
    on_demand: list[tuple[str, str]] = []
    for entry in entries:
        detailed = entry if isinstance(entry, dict) else {"skill": entry}
        name = frontmatter.as_text(detailed.get("skill"))
        if name is not None and name not in included:
            on_demand.append((name, frontmatter.as_text(detailed.get("description")) or ""))
    return tuple(included), tuple(on_demand)


def _title(fields: _Fields, file: SkillFile, kind: Kind, plugin: Plugin | None) -> str | None:
    title = frontmatter.as_text(fields.name)
    return title if kind != "command" and (title != file.name or plugin is not None) else None


def _hint(hint: object) -> object:
    """Return the hint as written: YAML parses `[issue]` as a list."""
    return f"[{', '.join(map(str, hint))}]" if isinstance(hint, list) else hint


def _first_line(body: str) -> str:
    first = next((line for line in body.splitlines() if line.strip()), "")
    return first.lstrip("#").strip()
