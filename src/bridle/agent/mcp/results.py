"""The result of an MCP tool as the model reads it; large results and binary content are saved to files."""

from __future__ import annotations

import base64
import binascii
import time
from pathlib import Path
from typing import Any

import msgspec

from bridle.agent.mcp.config import safe_name
from bridle.agent.tools.contract.shown_output import format_size, persisted_output
from bridle.agent.tools.contract.tool import ContentBlock, ToolResult, failed_result
from bridle.errors import ServerFailure
from bridle.ground import disk
from bridle.wire.events.loose_json import to_bytes

# Pictures that the API accepts.
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
# About so many characters make a token.
TOKEN_CHARACTERS = 4
# A longer result is saved, and the model sees its beginning, as with every tool.
SHOWN_CHARACTERS = 50_000

# The ending of a file with saved content, by which other programs know what it is; `bin` for any other type.
_OFFICE = "application/vnd.openxmlformats-officedocument"
_ENDINGS = {
    "application/json": "json",
    "application/msword": "doc",
    "application/pdf": "pdf",
    "application/vnd.ms-excel": "xls",
    f"{_OFFICE}.presentationml.presentation": "pptx",
    f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
    f"{_OFFICE}.wordprocessingml.document": "docx",
    "application/zip": "zip",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/wav": "wav",
    "image/svg+xml": "svg",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
    "video/mp4": "mp4",
    "video/webm": "webm",
}


class ResultReader:
    """Turns results of one server's tool into results of ours."""

    def __init__(self, server: str, tool: str, shown_name: str, folder: Path, output_tokens: int) -> None:
        """Files are saved in `folder`; a result of more than `output_tokens` is saved as a whole."""
        self._server, self._tool, self._shown_name, self._folder = server, tool, shown_name, folder
        self._limit_characters = output_tokens * TOKEN_CHARACTERS

    def read(self, result: dict[str, Any], call_id: str) -> ToolResult:
        """Return the result for the model. Raises ServerFailure if it is malformed."""
        if "toolResult" in result:
            text = result["toolResult"]
            return self._limit(text if isinstance(text, str) else to_bytes(text).decode(), call_id, None, result)
        blocks = result.get("content", [])
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            raise self._malformed("content must be a list of blocks")
        if not isinstance(is_error := result.get("isError", False), bool):
            raise self._malformed("isError must be true or false")
        if is_error:
            texts = [str(block["text"]) for block in blocks if block.get("type") == "text" and "text" in block]
            return failed_result("\n".join(texts) or "Unknown error")
        content = [part for block in blocks for part in self.convert(block)]
        structured = result.get("structuredContent")
        if structured is not None:
            pictures = [block for block in content if block["type"] == "image"]
            text = to_bytes(structured).decode()
            return self._limit([_text(text), *pictures] if pictures else text, call_id, structured, result)
        if all(block["type"] == "text" and not str(block["text"]).strip() for block in content):
            return ToolResult(f"({self._shown_name} completed with no output)", detail=content)
        return self._limit(content, call_id, None, result)

    def _limit(
        self, content: str | list[ContentBlock], call_id: str, structured: Any, result: dict[str, Any]
    ) -> ToolResult:
        text = content if isinstance(content, str) else "\n".join(str(block.get("text", "")) for block in content)
        pictures = [] if isinstance(content, str) else [block for block in content if block["type"] == "image"]
        detail: Any = content
        if len(text) > self._limit_characters:
            message = self._saved(text, structured)
            content = [_text(message), *pictures] if pictures else message
            detail = content
        elif len(text) > SHOWN_CHARACTERS:
            content = persist(content, call_id, self._folder)
        extra = {key: result[key] for key in ("structuredContent", "_meta") if result.get(key) is not None}
        return ToolResult(content, detail={"content": detail, **extra} if extra else detail)

    def _saved(self, text: str, structured: Any) -> str:
        path = self._folder / f"mcp-{safe_name(self._server)}-{safe_name(self._tool)}-{_milliseconds()}.txt"
        self._write(path, text.encode("utf-8", "surrogatepass"))
        lines = text.count("\n") + (not text.endswith("\n"))
        size = f"{len(text):,} characters" + (
            "" if structured is not None else f" across {lines:,} {'line' if lines == 1 else 'lines'}"
        )
        return (
            f"Error: result ({size}) exceeds maximum allowed tokens. Output has been saved to {path}.\n"
            f"Format: {'JSON' if structured is not None else 'Plain text'}\n"
            "Read the file in parts, with offset and limit, or search in it. If its lines are too long for that, cut "
            "them with a command. Say which part you have read when you report on it."
        )

    def convert(self, block: dict[str, Any]) -> list[ContentBlock]:
        """Return a block of MCP as blocks of the API. Raises ServerFailure if it is malformed."""
        match block:
            case {"type": "text", "text": str(text)}:
                return [_text(text)]
            case {"type": "image", "data": str(data), "mimeType": str(kind)}:
                if kind in PICTURES:
                    decode_base64(data, kind)
                    return [_picture(data, kind)]
                return [_text(f"[Image from {self._server}] {self._binary(data, kind)}")]
            case {"type": "audio", "data": str(data), "mimeType": str(kind)}:
                return [_text(f"[Audio from {self._server}] {self._binary(data, kind)}")]
            case {"type": "resource_link", "uri": str(uri), "name": str(name)}:
                about = f" ({block['description']})" if block.get("description") else ""
                return [_text(f"[Resource link: {name}] {uri}{about}")]
            case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
                return [_text(f"[Resource from {self._server} at {uri}] {text}")]
            case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data)}}:
                return self._resource(uri, data, block["resource"].get("mimeType"))
        raise self._malformed(f"a block of type {block.get('type')!r} has not the fields of that type")

    def _resource(self, uri: str, data: str, kind: Any) -> list[ContentBlock]:
        kind = kind if isinstance(kind, str) else "application/octet-stream"
        head = f"[Resource from {self._server} at {uri}] "
        if kind in PICTURES:
            decode_base64(data, kind)
            return [_text(head), _picture(data, kind)]
        return [_text(head + self._binary(data, kind))]

    def _binary(self, data: str, kind: str) -> str:
        path, size_bytes = save_binary(self._folder, f"mcp-{safe_name(self._server)}-blob", data, kind)
        return f"Binary content ({kind}, {format_size(size_bytes)}) saved to {path}"

    def _write(self, path: Path, data: bytes) -> None:
        write_file(path, data)

    def _malformed(self, reason: str) -> ServerFailure:
        return ServerFailure(
            f'MCP server "{self._server}" returned a malformed result that failed schema validation: {reason}'
        )


def persist(content: str | list[ContentBlock], call_id: str, folder: Path) -> str:
    """Save a result to a file; return what the model reads of it: the path and the beginning."""
    is_text = isinstance(content, str)
    data = content.encode() if isinstance(content, str) else msgspec.json.format(to_bytes(content), indent=2)
    path = folder / f"{safe_name(call_id)}.{'txt' if is_text else 'json'}"
    write_file(path, data)
    summary = f"Output too large ({format_size(len(data))}). Full output saved to: {path}"
    return persisted_output(data.decode("utf-8", "replace"), summary)


def decode_base64(data: str, kind: str) -> bytes:
    """Decode base64 with or without padding and line breaks. Raises ServerFailure if it is not base64."""
    compact = "".join(data.split())
    try:
        return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ServerFailure(f"the content of type {kind} is not base64: {error}") from error


def save_binary(folder: Path, prefix: str, data: str, kind: str) -> tuple[Path, int]:
    """Save base64 content to a file; return its path and size. Raises ServerFailure if it is not base64."""
    content = decode_base64(data, kind)
    name = f"{prefix}-{_milliseconds()}-{binascii.crc32(content):08x}.{_ENDINGS.get(kind, 'bin')}"
    path = folder / name
    write_file(path, content)
    return path, len(content)


def write_file(path: Path, data: bytes) -> None:
    """Write a file that a result names, in a folder of the session."""
    disk.make_own_folder(path.parent)
    path.write_bytes(data)


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000


def _text(text: str) -> ContentBlock:
    return {"type": "text", "text": text}


def _picture(data: str, kind: str) -> ContentBlock:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
