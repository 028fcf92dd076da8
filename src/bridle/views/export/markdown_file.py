"""An export as one Markdown document, in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bridle.views.export.export_source import ExportSource, Progress, read_conversations
from bridle.views.export.markdown_conversation import MarkdownConversation
from bridle.views.export.markdown_run import run_lines
from bridle.views.export.run_part import read_run_part
from bridle.views.export.size_limit import SizeLimit
from bridle.views.format_amounts import format_count, format_time
from bridle.views.markdown_text import escape_line
from bridle.views.terminal.escape_controls import escape_controls
from bridle.wire.mask import Mask
from bridle.wire.record.gauge import gauge_of


def markdown_pieces(source: ExportSource, mask: Mask, limit: SizeLimit, progress: Progress) -> Iterator[bytes]:
    """Yield the document; what does not fit is named at its end."""

    def title(text: str) -> str:
        return escape_line(mask.apply(escape_controls(text)))

    part = read_run_part(source, mask, limit)
    if part is None:
        yield _encode([f"# {title(source.title)}", ""])
    else:
        yield _encode(run_lines(part))
    yield _encode([f"Exported {format_time(source.at)} by Bridle {source.version}.", ""])
    for log, followed in read_conversations(source, mask, progress):
        name = log.title or log.path.name
        if part is not None:
            yield _encode([f"### {title(name)}", ""])
        markdown = MarkdownConversation(followed.transcript, mask)
        yield from _limit(markdown, limit, f"{mask.apply(name)}, its log is {mask.apply(str(log.path))}")
        yield _encode(markdown.gauge(gauge_of(followed.recorder.record)))
    if limit.omitted:
        yield _encode(["## Left out", "", *(f"- {title(remark)}" for remark in limit.omitted)])


def _limit(markdown: MarkdownConversation, limit: SizeLimit, name: str) -> Iterator[bytes]:
    items = markdown.transcript.items()
    for index, item in enumerate(items):
        piece = _encode(markdown.item(item))
        if not limit.take(len(piece)):
            limit.omit(f"{format_count(len(items) - index, 'item')} of {name}")
            return
        yield piece


def _encode(lines: Iterable[str]) -> bytes:
    return "".join(f"{line.rstrip()}\n" for line in lines).encode("utf-8", "replace")
