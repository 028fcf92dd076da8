"""Reads the first lines of a skill, command or skillset."""

from __future__ import annotations

import json

from bridle.agent.skills import frontmatter, skill_files
from bridle.agent.skills.skill_files import Kind, Plugin, Skill, SkillFile, Source


def read_skill(
    file: SkillFile, kind: Kind, source: Source, plugin: Plugin | None = None
) -> tuple[Skill | None, str | None]:
    """Read the first lines of a document; return the skill and a warning, each of them if there is one."""
    text = skill_files.read_head(file.path)
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
    fields = document.fields
    own = frontmatter.as_text(fields.get("description"))
    when = frontmatter.as_text(fields.get("when_to_use"))
    described = " - ".join(part for part in (own or _first_line(document.body), when) if part)
    return Skill(
        name=f"{plugin.name}:{file.name}" if plugin is not None else file.name,
        kind=kind,
        source=source,
        path=file.path,
        folder=file.path.parent if file.is_folder else None,
        description=described or file.name,
        is_described=own is not None or when is not None,
        title=_title(fields, file, kind),
        argument_hint=frontmatter.as_text(_hint(fields)) or "",
        argument_names=frontmatter.as_words(fields.get("arguments")),
        allowed_tools=frontmatter.as_words(fields.get("allowed-tools")),
        model=frontmatter.as_text(fields.get("model")),
        for_model=not frontmatter.as_flag(fields.get("disable-model-invocation"), default=False),
        for_user=frontmatter.as_flag(fields.get("user-invocable"), default=True),
        members=frontmatter.as_words(fields.get("skills")) if kind == "skillset" else (),
        plugin=plugin.path if plugin is not None else None,
    )


def _title(fields: frontmatter.Fields, file: SkillFile, kind: Kind) -> str | None:
    title = frontmatter.as_text(fields.get("name"))
    return title if kind != "command" and title != file.name else None


def _hint(fields: frontmatter.Fields) -> object:
    """Return the hint as written: YAML parses `[issue]` as a list."""
    hint = fields.get("argument-hint")
    return f"[{', '.join(map(str, hint))}]" if isinstance(hint, list) else hint


def _first_line(body: str) -> str:
    first = next((line for line in body.splitlines() if line.strip()), "")
    return first.lstrip("#").strip()
