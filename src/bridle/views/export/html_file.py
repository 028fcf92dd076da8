"""An export as one HTML file that works offline: the page of `bridle watch` with its data inside, in pieces.

Nothing in it connects or acts. A policy in the file allows its own script and style by their digests and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterator
from importlib.resources import files

from bridle.views.export.export_source import ExportedLog, ExportSource, Progress, read_conversations
from bridle.views.export.inline_images import with_inline_images
from bridle.views.export.json_file import encode
from bridle.views.export.page_data import page_data
from bridle.views.export.run_part import read_run_part
from bridle.views.export.size_limit import SizeLimit
from bridle.views.format_amounts import format_count
from bridle.views.run_data.conversation_pages import Conversation, seconds_of
from bridle.views.run_data.followed_log import FollowedLog
from bridle.views.run_data.log_ending import read_meta_if_possible
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.events.surrogates import replace_surrogates
from bridle.wire.mask import Mask

FORMAT = 1
_PAGE = """<!doctype html>
<html lang="en" data-bridle="export">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<noscript>This file shows its content with a script that it contains; it loads nothing from the network.</noscript>
<div id="app"></div>
<script type="application/json" id="bridle-data">"""
_END = """</script>
<script type="module">{script}</script>
</body>
</html>
"""


def html_pieces(source: ExportSource, mask: Mask, limit: SizeLimit, progress: Progress) -> Iterator[bytes]:
    """Yield the file; what does not fit is named in it, at the top of its first page."""
    script, style = _static("app.js"), _static("app.css")
    title = html.escape(f"{replace_surrogates(mask.apply(source.title))} · Bridle")
    yield _PAGE.format(policy=_policy(script, style), title=title, style=style).encode()
    for piece in _data(source, mask, limit, progress):
        yield piece.replace(b"<", b"\\u003c")  # within texts only: nothing can end the element or begin a comment
    yield _END.format(script=script).encode()


def _static(name: str) -> str:
    """Return a file of the page; it must not be able to end its element."""
    text = files("bridle.views.web").joinpath("static", name).read_text(encoding="utf-8")
    if "</script" in text.lower() or "</style" in text.lower():
        raise ValueError(f"{name} ends the element that it is in")
    return text


def _policy(script: str, style: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(source: ExportSource, mask: Mask, limit: SizeLimit, progress: Progress) -> Iterator[bytes]:
    """Yield the document of the page, as web/src/data/export_source.js reads it."""
    name, part = source.name, read_run_part(source, mask, limit)
    head = {
        "format": FORMAT,
        "version": source.version,
        "exported_at": source.at,
        **page_data(source, part, mask),
    }
    yield encode(head)[:-1] + b',"logs":{' + encode(name) + b":{"
    for index, (log, followed) in enumerate(read_conversations(source, mask, progress)):
        yield (b"," if index else b"") + encode(log.id) + b':{"items":['
        conversation = Conversation(followed, mask, seconds_of(read_meta_if_possible(log.path).started), "")
        yield from _items(log, followed, conversation, mask, limit)
        facts = conversation.window(None, 0, 0)
        totals = {thread or "": len(followed.transcript.item_ids(thread)) for thread in followed.transcript.threads}
        kept = {"totals": totals, **{key: facts[key] for key in ("footer", "todos", "gauge")}}
        yield b"]," + encode(kept)[1:]
    yield b'}},"omitted":' + encode(mask.apply_to_json(limit.omitted)) + b"}"


def _items(
    log: ExportedLog, followed: FollowedLog, conversation: Conversation, mask: Mask, limit: SizeLimit
) -> Iterator[bytes]:
    transcript = followed.transcript
    ids = [item_id for thread in transcript.threads for item_id in transcript.item_ids(thread)]
    for index, item_id in enumerate(ids):
        item = transcript.item(item_id)
        document: JsonObject = {} if item is None else conversation.item(item)
        piece = encode(with_inline_images(document, followed, limit))
        if not limit.take(len(piece)):
            rest = format_count(len(ids) - index, "item")
            limit.omit(mask.apply(f"{rest} of {log.title or log.path.name}, its log is {log.path}"))
            return
        yield b"," + piece if index else piece
