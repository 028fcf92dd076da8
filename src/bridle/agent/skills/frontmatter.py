"""The fields between two `---` at the top of a document. Tolerant: where they are broken the rest still counts.

Most frontmatter is one plain line for each field, and is read without the YAML library, whose import costs more
than all the rest of a start.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from bridle.ground.frontmatter import split_frontmatter

# Fields are a few lines. What is larger is not written by hand, and a parser can be kept busy for long with it.
FIELDS_LIMIT_CHARACTERS = 32 * 1024

# Lists within lists: the parser takes the longer the deeper they are, and no field here is one.
NESTING_LIMIT = 100

# Several words of one field; the search for parentheses takes long in very long ones.
WORDS_LIMIT_CHARACTERS = 4096

# A value that YAML would give back as this very text: it begins with a letter or a digit and has no sign in it.
_PLAIN = r"([A-Za-z][\w-]*):[ \t]+((?:[^\W\d]|[/(<$])(?:[^:#]|:(?=\S)|(?<=\S)#)*)"
_LINE = r"([A-Za-z][\w-]*):[ \t]*(\S.*)"
_WORDS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}
_EMPTY = frozenset({"null", "~"})


class Document(msgspec.Struct, frozen=True):
    """A document taken apart."""

    fields: dict[str, Any]
    body: str
    fault: str | None = None
    """What is wrong with the fields, if something is."""


def parse_document(text: str) -> Document:
    """Take a document apart; without frontmatter all of it is body."""
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
    why = loaded if isinstance(loaded, str) else "it is not a list of fields"
    return Document(_lines(block), body, f"its frontmatter is not YAML: {why}")


def load_yaml(text: str) -> object:
    """Load YAML from a stranger; a string says what is wrong with it. No aliases: they can grow without end."""
    if text.count("[") + text.count("{") > NESTING_LIMIT:
        return f"it has more than {NESTING_LIMIT} lists in it"
    import yaml

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("it has an alias, which is not allowed here")
            return super().compose_node(parent, index)

    try:
        value: object = yaml.load(text, Loader)  # noqa: S506  # a SafeLoader that is safer still
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:
        return " ".join(str(error).split()) or type(error).__name__
    return value


def as_text(value: object) -> str | None:
    """A field as one line of text; None for what is not text."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str | int | float):
        return " ".join(str(value).split()) or None
    return None


def as_flag(value: object, *, default: bool) -> bool:
    """A field as yes or no."""
    if isinstance(value, bool):
        return value
    return _WORDS.get(value.strip().lower(), default) if isinstance(value, str) else default


def as_words(value: object) -> tuple[str, ...]:
    """A field as several words: a list, or text with commas, or with spaces; what stands in parentheses stays whole."""
    if isinstance(value, list):
        return tuple(text for item in value if (text := as_text(item)) is not None)
    text = (as_text(value) or "")[:WORDS_LIMIT_CHARACTERS]
    parts = re.findall(r"(?:\([^)]*\)|[^,(])+" if re.search(r",(?![^(]*\))", text) else r"(?:\([^)]*\)|[^\s(])+", text)
    return tuple(part.strip() for part in parts if part.strip())


def _plain(block: str) -> dict[str, Any] | None:
    """The fields of a block in which every line is a plain one; None when it takes a parser."""
    fields: dict[str, Any] = {}
    for line in (line.rstrip(" \t\r") for line in block.split("\n")):
        if not line or line.startswith("#"):
            continue
        found = re.fullmatch(_PLAIN, line)
        if found is None or found[2].lower() in _EMPTY:
            return None
        fields[found[1]] = _WORDS.get(found[2].lower(), found[2])
    return fields


def _lines(block: str) -> dict[str, Any]:
    """What can be saved of a broken block: the lines that look like a field."""
    return {found[1]: found[2] for line in block.split("\n") if (found := re.fullmatch(_LINE, line.rstrip()))}
