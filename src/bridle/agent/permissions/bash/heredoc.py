"""Here-documents: where bash ends them, and those whose text is known exactly."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node  # for annotations only; the library is loaded with the first command

UNREADABLE: Final = "Contains a here-document that cannot be read"
EXPANDED: Final = "Heredoc with unquoted delimiter undergoes shell expansion"

_BLOCK = re.compile(r"\"\$\(cat <<'(\w+)'\n")
_HEREDOC = re.compile(r"<<-?[ \t]*(?:'(?P<single>\w+)'|\"(?P<double>\w+)\"|(?P<bare>\w+))(?=[ \t\n;|&<>)])")


def check_heredoc(node: Node, data: bytes) -> tuple[str | None, bool]:
    """Compare a here-document of the tree with where bash would end it.

    Return a doubt, and whether commands may have been taken for text.
    """
    start = node.start_byte
    while data[start : start + 1].isdigit():
        start += 1
    opening = _HEREDOC.match(data[start:].decode())
    end = next((child for child in node.children if child.type == "heredoc_end"), None)
    bodies = [child for child in node.children if child.type == "heredoc_body"]
    if opening is None or end is None or len(bodies) > 1:
        return UNREADABLE, True
    word = (opening["single"] or opening["double"] or opening["bare"]).encode()
    first_line = data.find(b"\n", start) + 1
    body_start = bodies[0].start_byte if bodies else end.start_byte
    expected = _end_of_heredoc(data, first_line, word, strips_tabs=opening[0].startswith("<<-"))
    if expected != end.start_byte or data[first_line:body_start].strip(b" \t\n"):
        return UNREADABLE, True
    body = data[first_line : end.start_byte]
    is_expanded = opening["bare"] is not None and any(sign in body for sign in (b"$", b"`", b"\\"))
    return (EXPANDED if is_expanded else None), False


def text_block(word: str) -> str | None:
    """Return the text of `"$(cat <<'EOF' … EOF)"`: several lines as one word, without expansion.

    Return None for anything else. An extra closing parenthesis would end it early in old shells.
    """
    opening = _BLOCK.match(word)
    if opening is None:
        return None
    lines = word[opening.end() :].split("\n")
    if opening[1] not in lines:
        return None
    end = lines.index(opening[1])
    body, rest = lines[:end], "\n".join(lines[end + 1 :])
    if rest.strip(" \t\n") != ')"' or _closes_too_much("\n".join(body)):
        return None
    return "\n".join(body).rstrip("\n")


def _closes_too_much(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return True
    return False


def _end_of_heredoc(data: bytes, start: int, word: bytes, *, strips_tabs: bool) -> int:
    """Return the position of the delimiter that ends a here-document, or -1."""
    place = start
    while place <= len(data):
        end = data.find(b"\n", place)
        line = data[place : end if end >= 0 else len(data)]
        tabs = len(line) - len(line.lstrip(b"\t")) if strips_tabs else 0
        if line[tabs:] == word:
            return place + tabs
        if end < 0:
            return -1
        place = end + 1
    return -1
