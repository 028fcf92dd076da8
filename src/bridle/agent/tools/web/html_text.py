"""Converts a web page to plain text with some Markdown."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_HIDDEN = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas"})
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "dd", "div", "dl", "dt", "fieldset", "figcaption", "figure"}
    | {"footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre"}
    | {"section", "table", "title", "tr", "ul"}
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
# The deepest indentation of nested lists.
_DEPTH_LIMIT = 8


def page_text(body: bytes, content_type: str) -> str:
    """Return the text of a page: HTML converted, anything else unchanged."""
    is_html = "html" in content_type or body.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html"))
    text = _decode(body, content_type, is_html=is_html)
    return html_text(text) if is_html else text


def html_text(html: str) -> str:
    """Convert HTML to text."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.text()


def _decode(body: bytes, content_type: str, *, is_html: bool) -> str:
    header = re.search(r"charset=[\"']?([\w.:-]+)", content_type)
    charset = header[1] if header else "utf-8"
    if header is None and is_html and (declared := _CHARSET.search(body[:4096])):
        charset = declared[1].decode("ascii")
    try:
        return body.decode(charset, "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


class _Reader(HTMLParser):
    """Collects text; tags become line breaks, headings, list marks and links."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = [""]
        self._hidden: str | None = None
        self._hidden_depth = 0
        self._preformatted = 0
        self._lists = 0
        self._links: list[tuple[str, int, int]] = []

    def text(self) -> str:
        """Return the text without repeated empty lines."""
        text = "\n".join(line.rstrip() for line in self._lines)
        return re.sub(r"\n{3,}", "\n\n", text).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden is not None:
            self._hidden_depth += tag == self._hidden
        elif tag in _HIDDEN:
            self._hidden, self._hidden_depth = tag, 1
        elif tag == "br":
            self._lines.append("")
        elif tag == "a":
            self._links.append((dict(attrs).get("href") or "", len(self._lines), len(self._lines[-1])))
        elif tag in ("td", "th"):
            self._lines[-1] += " | " if self._lines[-1].strip() else ""
        elif tag in _BLOCKS:
            self._begin_block(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._hidden is not None:
            self._hidden_depth -= tag == self._hidden
            if self._hidden_depth == 0:
                self._hidden = None
        elif tag == "a" and self._links:
            href, line, start = self._links.pop()
            label = self._lines[-1][start:].strip()
            if label and line == len(self._lines) and href and not href.startswith(("#", "javascript:")):
                self._lines[-1] = f"{self._lines[-1][:start]}[{label}]({href})"
        elif tag in _BLOCKS:
            self._end_block(tag)

    def handle_data(self, data: str) -> None:
        """Add the text between tags."""
        if self._hidden is not None:
            return
        if self._preformatted:
            first, *others = data.split("\n")
            self._lines[-1] += first
            self._lines += others
            return
        text = re.sub(r"\s+", " ", data)
        if text.startswith(" ") and (not self._lines[-1] or self._lines[-1].endswith(" ")):
            text = text[1:]
        self._lines[-1] += text

    def _begin_block(self, tag: str) -> None:
        self._break(is_wide=tag not in ("li", "tr", "dd", "dt"))
        if tag in ("ul", "ol"):
            self._lists = min(self._lists + 1, _DEPTH_LIMIT)
        elif tag == "li":
            self._lines[-1] = "  " * max(self._lists - 1, 0) + "- "
        elif tag in _HEADINGS:
            self._lines[-1] = _HEADINGS[tag] + " "
        elif tag == "pre":
            self._preformatted += 1
            self._lines[-1:] = ["```", ""]
        elif tag == "hr":
            self._lines += ["---", ""]

    def _end_block(self, tag: str) -> None:
        if tag in ("ul", "ol"):
            self._lists = max(self._lists - 1, 0)
        elif tag == "pre" and self._preformatted:
            self._preformatted -= 1
            self._lines[-1:] = [*filter(None, self._lines[-1:]), "```"]
        self._break(is_wide=tag not in ("li", "tr", "dd", "dt"))

    def _break(self, *, is_wide: bool) -> None:
        if self._lines[-1]:
            self._lines.append("")
        if is_wide and len(self._lines) > 1 and self._lines[-2]:
            self._lines.append("")
