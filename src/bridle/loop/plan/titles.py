"""Titles of tasks made of texts of any length. Pure."""

from __future__ import annotations

# A title is in a commit's trailer, a column of the receipt and a log's name.
TITLE_LIMIT_CHARACTERS = 200


def cut_title(text: str, less: int = 0) -> str:
    """Return a text as a title: on one line, and no longer than a title may be, less what a caller will add."""
    limit = TITLE_LIMIT_CHARACTERS - less
    title = " ".join(text.split())
    return title if len(title) <= limit else f"{title[: limit - 1]}…"


def with_whole_text(text: str, title: str, body: str) -> str:
    """Return the body of a task; a text of which the title is only the beginning is whole at its top."""
    whole = " ".join(text.split())
    is_cut = not title.startswith(whole)
    return "\n\n".join(part for part in ((whole if is_cut else ""), body) if part)
