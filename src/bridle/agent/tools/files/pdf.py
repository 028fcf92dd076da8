"""Reads PDF files, which are sent to the model as documents."""

from __future__ import annotations

import os
import re
from pathlib import Path

from bridle.agent.tools.contract.shown_output import format_size as human_size
from bridle.agent.tools.contract.tool import ToolResult, failed_result, rejected_call
from bridle.agent.tools.files.excerpt import open_regular

# The Messages API accepts requests of 32 MB; base64 adds a third, and the conversation needs room too.
LIMIT_BYTES = 20 * 1024 * 1024
_PAGES = re.compile(r"\s*[1-9]\d*\s*(-\s*([1-9]\d*\s*)?)?")


def read_pdf(path: Path, pages: str | None) -> ToolResult:
    """Return the document as a block that follows the result, or an error."""
    if pages is not None:
        return _pages(pages)
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > LIMIT_BYTES:
            return failed_result(
                f"PDF file ({human_size(size)}) exceeds the maximum size of a PDF ({human_size(LIMIT_BYTES)}). "
                "Extract the pages you need (for example with `qpdf --pages`), or its text with `pdftotext`."
            )
        data = file.read(LIMIT_BYTES)
    if not data:
        return failed_result(f"PDF file is empty: {path}")
    if not data.startswith(b"%PDF-"):
        return failed_result(f"File is not a valid PDF (missing %PDF- header): {path}")
    return _document_result(path, data)


def _pages(pages: str) -> ToolResult:
    if not _PAGES.fullmatch(pages):
        return rejected_call(
            f'Invalid pages parameter: "{pages}". Use formats like "1-5", "3", or "10-20". Pages are 1-indexed.'
        )
    return failed_result(
        "Reading single pages of a PDF is not supported. Read the file without `pages`, "
        f"or extract the text of these pages with Bash: `pdftotext -layout` (of poppler-utils) for pages {pages}."
    )


def _document_result(path: Path, data: bytes) -> ToolResult:
    from base64 import b64encode  # late: few runs read a PDF

    text = b64encode(data).decode("ascii")
    return ToolResult(
        f"PDF file read: {path} ({human_size(len(data))})",
        detail={"type": "pdf", "file": {"filePath": str(path), "base64": text, "originalSize": len(data)}},
        follow_up=({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": text}},),
    )
