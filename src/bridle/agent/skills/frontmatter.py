"""Parses the frontmatter of a document; of an invalid block the valid lines are used.

Most frontmatter has one plain line per field, and is parsed without the YAML library, whose import takes longer than
the rest of the start.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import msgspec

from bridle.ground.frontmatter import split_frontmatter

# Frontmatter has a few lines; a larger block can keep the parser busy.
FIELDS_LIMIT_CHARACTERS = 32 * 1024

# Nested lists slow the parser down, and no field needs them.
NESTING_LIMIT = 100

# The search for parentheses is slow in very long values.
WORDS_LIMIT_CHARACTERS = 4096

# A value that YAML returns unchanged: it starts with a letter and has no special characters.
_PLAIN = r"([A-Za-z][\w-]*):[ \t]+((?:[^\W\d]|[/(<$])(?:[^:#]|:(?=\S)|(?<=\S)#)*)"
_LINE = r"([A-Za-z][\w-]*):[ \t]*(\S.*)"
_BOOLEANS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}
_EMPTY = frozenset({"null", "~"})


Fields: TypeAlias = dict[str, Any]
"""Frontmatter as loaded; `as_text`, `as_flag` and `as_words` convert its values."""


class Document(msgspec.Struct, frozen=True):
    """A parsed document."""

    fields: Fields
    body: str
    fault: str | None = None
    """The error in the frontmatter, or None."""


def parse_document(text: str) -> Document:
    """Parse a document; without frontmatter all of it is body."""
    text = text.removeprefix("\ufeff")
    parts = split_frontmatter(text)
    if parts is None:
        return Document({}, text)
    block, body = parts[0], parts[1].lstrip("\r\n")
    if len(block) > FIELDS_LIMIT_CHARACTERS:
        return Document({}, body, f"its frontmatter is longer than {FIELDS_LIMIT_CHARACTERS} characters")
    fields = _plain(block)
    if fields is not None:
        return Document(fields, body)
    loaded = load_yaml(block)
    if isinstance(loaded, dict):
        return Document({key: value for key, value in loaded.items() if isinstance(key, str)}, body)
    reason = loaded if isinstance(loaded, str) else "it is not a list of fields"
    return Document(_lines(block), body, f"its frontmatter is not YAML: {reason}")


def load_yaml(text: str) -> object:
    """Load untrusted YAML; return a string with the error if it fails. Aliases are rejected: they can expand."""
    if text.count("[") + text.count("{") > NESTING_LIMIT:
        return f"it has more than {NESTING_LIMIT} lists in it"
    import yaml

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("it has an alias, which is not allowed")
            return super().compose_node(parent, index)

    try:
        value: object = yaml.load(text, Loader)  # noqa: S506  # a restricted SafeLoader
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:
        return " ".join(str(error).split()) or type(error).__name__
    return value


def as_text(value: object) -> str | None:
    """Return a field as one line of text; None if it is not text."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str | int | float):
        return " ".join(str(value).split()) or None
    return None


def as_flag(value: object, *, default: bool) -> bool:
    """Return a field as a boolean."""
    if isinstance(value, bool):
        return value
    return _BOOLEANS.get(value.strip().lower(), default) if isinstance(value, str) else default


def as_words(value: object) -> tuple[str, ...]:
    """Return a field as words: a list, or text split at commas or else spaces, but not in parentheses."""
    if isinstance(value, list):
        return tuple(text for item in value if (text := as_text(item)) is not None)
    text = (as_text(value) or "")[:WORDS_LIMIT_CHARACTERS]
    parts = re.findall(r"(?:\([^)]*\)|[^,(])+" if re.search(r",(?![^(]*\))", text) else r"(?:\([^)]*\)|[^\s(])+", text)
    return tuple(part.strip() for part in parts if part.strip())


def _plain(block: str) -> Fields | None:
    """Return the fields of a block of plain lines; None if it needs the YAML parser."""
    fields: Fields = {}
    for line in (line.rstrip(" \t\r") for line in block.split("\n")):
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(_PLAIN, line)
        if match is None or match[2].lower() in _EMPTY:
            return None
        fields[match[1]] = _BOOLEANS.get(match[2].lower(), match[2])
    return fields


def _lines(block: str) -> Fields:
    """Return the lines of an invalid block that look like fields."""
    return {match[1]: match[2] for line in block.split("\n") if (match := re.fullmatch(_LINE, line.rstrip()))}
