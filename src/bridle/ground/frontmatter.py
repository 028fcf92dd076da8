"""The block between two lines of `---` at the top of a Markdown document.

Session files and plans have rules of their own for theirs (bytes and a limit; a heading that ends it), and so do not
use this.
"""

from __future__ import annotations

_FENCE = "---"


def split_frontmatter(text: str) -> tuple[str, str] | None:
    """Return the block, without its fences, and the text below it; None where there is no such block."""
    first, newline, _ = text.partition("\n")
    if not newline or first.rstrip(" \t\r") != _FENCE:
        return None
    start = at = len(first) + 1
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if text.startswith(_FENCE, at) and text[at:end].rstrip(" \t\r") == _FENCE:
            return text[start:at], text[end + 1 :]
        at = end + 1
    return None
