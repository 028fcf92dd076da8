"""The Read tool: returns a file with numbered lines, an image, a PDF or a notebook."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from bridle.agent.tools.contract.in_thread import run_in_thread
from bridle.agent.tools.contract.shown_output import format_size as human_size
from bridle.agent.tools.contract.tool import PathInput, ToolResult, failed_result, rejected_call
from bridle.agent.tools.contract.tool_paths import (
    describe_os_error,
    missing_file_message,
    path_of_call,
    reject_invalid_path,
)
from bridle.agent.tools.files.excerpt import (
    WHOLE_LIMIT_BYTES,
    BinaryFile,
    Excerpt,
    FileTooLarge,
    NotRegularFile,
    read_excerpt,
)
from bridle.agent.tools.files.images import SUFFIXES as IMAGES
from bridle.agent.tools.files.images import read_image
from bridle.agent.tools.files.known_files import FileMemory, KnownFile, View
from bridle.agent.tools.files.notebook import NotANotebook, read_notebook
from bridle.agent.tools.files.pdf import read_pdf

# The size of one result. Claude Code lets the API count tokens; a token is about four characters.
_TOKEN_LIMIT = 25_000
_CHARACTERS_PER_TOKEN = 4
# A page stays below the limit, because tokens are not spread evenly over the lines.
_PAGE_SHARE = 0.85

# Suffixes of files that are not text.
_BINARY_SUFFIXES = (
    " 3ds 7z a aac ai app avi bin blend bmp bz2 class dat db deb dll doc docx dylib ear eot exe fig fla flac "
    "flv gz ico idx iso jar lib m4a m4v max mdb mkv mov mp3 mp4 mpeg mpg msi node o obj odp ods odt ogg opus "
    "otf ppt pptx psd pyc pyo rar rlib rpm sketch so sqlite sqlite3 swf tar tgz tif tiff ttf war wasm wav "
    "webm wma wmv woff woff2 xls xlsx xz z zip "
)

_ADVICE = (
    "Use offset and limit parameters to read specific portions of the file, or search for specific content instead of"
    " reading the whole file."
)
_UNCHANGED = "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead."


class ReadInput(PathInput, frozen=True):
    """The input of Read."""

    file_path: str
    offset: int | float | None = None
    limit: int | float | None = None
    pages: str | None = None


class Read:
    """Returns files, and records which state of them the model has read."""

    input_type = ReadInput

    def __init__(self, folder: Callable[[], Path], memory: FileMemory) -> None:
        self._folder = folder
        self._memory = memory

    async def run(self, request: ReadInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        return await run_in_thread(lambda cancelled: self._read(request, cancelled))

    def _read(self, request: ReadInput, cancelled: threading.Event) -> ToolResult:
        name = request.file_path
        view = _view(request)
        folder = self._folder()
        path = path_of_call(request, folder, name)
        suffix = path.suffix.lower()
        if rejection := reject_invalid_path(name):
            return rejection
        if suffix and f" {suffix[1:]} " in _BINARY_SUFFIXES:
            return _binary(suffix)
        try:
            if suffix in IMAGES:
                return read_image(path)
            if suffix == ".pdf":
                return read_pdf(path, request.pages)
            if self._is_unchanged(path, view):
                return ToolResult(_UNCHANGED, detail={"type": "file_unchanged", "file": {"filePath": name}})
            if suffix == ".ipynb":
                result, known = read_notebook(path, name, view)
                self._memory.remember(known)
                return result
            return self._text(path, name, view, cancelled)
        except FileNotFoundError:
            return failed_result(missing_file_message(path, folder))
        except OSError as error:
            return failed_result(describe_os_error(error, path))
        except NotRegularFile:
            return rejected_call(f"Cannot read '{name}': this device file would block or produce infinite output.")
        except BinaryFile:
            return _binary(suffix)
        except NotANotebook as error:
            return failed_result(str(error))

    def _is_unchanged(self, path: Path, view: View) -> bool:
        known = self._memory.find(path)
        if known is None or known.view != view:
            return False
        state = path.lstat()
        return (state.st_mtime_ns, state.st_size) == (known.mtime_ns, known.size)

    def _text(self, path: Path, name: str, view: View, cancelled: threading.Event) -> ToolResult:
        try:
            excerpt = read_excerpt(path, view, cancelled)
        except FileTooLarge as error:
            return failed_result(
                f"File content ({human_size(error.size)}) exceeds maximum allowed size "
                f"({human_size(WHOLE_LIMIT_BYTES)}). {_ADVICE}"
            )
        tokens = excerpt.size // _CHARACTERS_PER_TOKEN
        lines, notice = excerpt.lines, ""
        if tokens > _TOKEN_LIMIT:
            if view.limit is not None:
                return failed_result(
                    f"File content ({tokens} tokens) exceeds maximum allowed tokens ({_TOKEN_LIMIT}). {_ADVICE}"
                )
            lines, notice = _page(excerpt, view.offset or 1, tokens)
        state = excerpt.state
        self._memory.remember(
            KnownFile(str(path), state.st_mtime_ns, state.st_size, excerpt.digest, len(lines) < excerpt.total, view)
        )
        return _number_lines(name, view, excerpt, lines, notice)


def _view(request: ReadInput) -> View:
    """Return the requested part; numbers out of range count as missing."""
    offset, limit = request.offset, request.limit
    return View(
        int(offset) if offset is not None and offset >= 0 else None,
        int(limit) if limit is not None and limit > 0 else None,
    )


def _number_lines(name: str, view: View, excerpt: Excerpt, lines: list[str], notice: str) -> ToolResult:
    first = 1 if view.offset is None else view.offset
    content = "\n".join(lines)
    file: dict[str, object] = {
        "filePath": name,
        "content": content,
        "numLines": len(lines),
        "startLine": first,
        "totalLines": excerpt.total,
    }
    if notice:
        file["truncatedByTokenCap"] = True
    if content:
        text = notice + "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, first))
    else:
        text = (
            f"<system-reminder>Warning: the file exists but is shorter than the provided offset ({first}). "
            f"The file has {excerpt.total} lines.</system-reminder>"
        )
    return ToolResult(text, detail={"type": "text", "file": file})


def _page(excerpt: Excerpt, first: int, tokens: int) -> tuple[list[str], str]:
    """Return as many lines as a result may have, and the notice about the others."""
    share = _TOKEN_LIMIT / tokens * _PAGE_SHARE
    count = int(len(excerpt.lines) * share)
    page = excerpt.lines[:count]
    last = first + count - 1
    shown = f"lines {first}-{last} of {excerpt.total} total ({tokens} tokens, cap {_TOKEN_LIMIT})"
    more = f"Call Read with offset={last + 1} limit={count} for the next page, or Grep to find a specific section."
    if not page or sum(map(len, page)) > _TOKEN_LIMIT * _CHARACTERS_PER_TOKEN:
        text = "\n".join(excerpt.lines)
        length = int(len(text) * share)
        page = text[:length].split("\n")
        shown = f"the first {length} of {len(text)} characters ({tokens} tokens, cap {_TOKEN_LIMIT})"
        more = "Its lines are too long to be paged: use Grep to find a specific section."
    notice = f"[Truncated: PARTIAL view — showing {shown}. {more} What you are looking for may be in the rest.]"
    return page, f"<system-reminder>{notice}</system-reminder>\n\n"


def _binary(suffix: str) -> ToolResult:
    kind = f"binary {suffix} file" if suffix else "binary file"
    return rejected_call(
        f"This tool cannot read binary files. The file appears to be a {kind}. "
        "Please use appropriate tools for binary file analysis."
    )
