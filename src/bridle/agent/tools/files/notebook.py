"""Parses Jupyter notebooks (.ipynb) and formats their cells and outputs for the model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from bridle.agent.tools.contract.shown_output import format_size as human_size
from bridle.agent.tools.contract.tool import ContentBlock, ToolResult
from bridle.agent.tools.files.excerpt import open_regular
from bridle.agent.tools.files.known_files import KnownFile, View, file_digest
from bridle.agent.tools.files.text_file import decode, replace_broken_bytes

# A notebook of this size contains data rather than code.
LIMIT_BYTES = 64 * 1024 * 1024
# The size of all cells together; the same as in Claude Code.
_SHOWN_LIMIT_BYTES = 256 * 1024
# The size of the outputs of one cell.
_OUTPUTS_LIMIT = 10_000
_IMAGES = ("image/png", "image/jpeg")

Notebook: TypeAlias = dict[str, Any]
"""A notebook as its file has it: NotebookEdit writes back every field."""
Cell: TypeAlias = dict[str, Any]


_Record = TypeVar("_Record", bound=msgspec.Struct)


class _StoredCell(msgspec.Struct):
    """The fields of a cell that are shown; any may have the wrong type."""

    cell_type: Any = "code"
    source: Any = ""
    execution_count: Any = None
    id: Any = None
    outputs: Any = None


class _StoredOutput(msgspec.Struct):
    """The fields of an output that are shown; any may have the wrong type."""

    output_type: Any = ""
    ename: Any = None
    evalue: Any = None
    traceback: Any = None
    text: Any = None
    data: Any = None


class _Image(msgspec.Struct):
    """An image of an output, in Base64."""

    image_data: str
    media_type: str


class _ShownOutput(msgspec.Struct):
    """An output of a cell, as programs get it."""

    output_type: str
    text: str
    image: _Image | UnsetType = UNSET


class _ShownCell(msgspec.Struct, kw_only=True):
    """A cell, as programs get it."""

    cell_type: str = msgspec.field(name="cellType")
    source: str
    execution_count: Any = UNSET
    cell_id: str
    language: str | UnsetType = UNSET
    outputs: list[_ShownOutput] | UnsetType = UNSET


class NotANotebook(Exception):
    """The file is not a usable notebook; the message is for the model."""


def load(path: Path) -> tuple[Notebook, bytes, os.stat_result]:
    """Return the notebook, its bytes and the state of its file."""
    with open_regular(path) as file:
        state = os.fstat(file.fileno())
        if state.st_size > LIMIT_BYTES:
            raise NotANotebook(
                f"Notebook file ({human_size(state.st_size)}) exceeds maximum allowed size "
                f"({human_size(LIMIT_BYTES)}). Extract the parts you need with Bash and jq."
            )
        data = file.read()
    return parse(decode(data).raw.removeprefix("\ufeff")), data, state


def parse(text: str) -> Notebook:
    """Parse a notebook; raise NotANotebook if it is not one."""
    import json  # late: few runs read a notebook

    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotANotebook(
            f"Notebook file is not valid JSON (it may be truncated, corrupted, or still being written): {error}"
        ) from error
    if not isinstance(value, dict) or not _are_objects(value.get("cells")):
        raise NotANotebook(
            'Notebook file is not a valid Jupyter notebook (top-level "cells" must be an array of cell objects).'
        )
    return value


def _are_objects(cells: object) -> bool:
    return isinstance(cells, list) and all(isinstance(cell, dict) for cell in cells)


def read_notebook(path: Path, name: str, view: View) -> tuple[ToolResult, KnownFile]:
    """Return all cells with their outputs, and the state of the file."""
    notebook, data, state = load(path)
    cells = [_cell(cell, index, language(notebook)) for index, cell in enumerate(notebook["cells"])]
    shown = msgspec.to_builtins(cells)
    size = len(repr(shown))
    if size > _SHOWN_LIMIT_BYTES:
        raise NotANotebook(
            f"Notebook content ({human_size(size)}) exceeds maximum allowed size ({human_size(_SHOWN_LIMIT_BYTES)}). "
            f"Read parts of it with Bash and jq, for example the first 20 cells:\n  jq '.cells[:20]' \"{path}\""
        )
    known = KnownFile(str(path), state.st_mtime_ns, state.st_size, file_digest(data), view=view)
    content: str | list[ContentBlock] = _blocks(cells) or "(Read completed with no output)"
    return ToolResult(content, detail={"type": "notebook", "file": {"filePath": name, "cells": shown}}), known


def language(notebook: Notebook) -> str:
    """Return the language of its code cells."""
    try:
        name = notebook["metadata"]["language_info"]["name"]
    except (KeyError, TypeError, IndexError):
        return "python"
    return name if isinstance(name, str) else "python"


def source_of(cell: Cell) -> str:
    """Return the source of a cell, which may be stored as a list of lines."""
    return _join(cell.get("source", ""))


def _join(value: Any) -> str:
    text = "".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""
    return replace_broken_bytes(text)


def _known_fields(value: dict[str, Any], kind: type[_Record]) -> _Record:
    # Other keys may be text that is not valid Unicode, which msgspec refuses.
    return msgspec.convert({name: value[name] for name in kind.__struct_fields__ if name in value}, kind)


def _cell(cell: Cell, index: int, code_language: str) -> _ShownCell:
    stored = _known_fields(cell, _StoredCell)
    name = stored.id if isinstance(stored.id, str) and stored.id else f"cell-{index}"
    shown = _ShownCell(cell_type=str(stored.cell_type), source=source_of(cell), cell_id=name)
    if shown.cell_type == "code":
        shown.execution_count = UNSET if stored.execution_count is None else stored.execution_count
        shown.language = code_language
        if outputs := [_output(output) for output in stored.outputs or () if isinstance(output, dict)]:
            is_small = len(repr(msgspec.to_builtins(outputs))) <= _OUTPUTS_LIMIT
            shown.outputs = outputs if is_small else [_omitted_outputs(index)]
    return shown


def _omitted_outputs(index: int) -> _ShownOutput:
    text = f"Outputs are too large to include. Use Bash with: cat <notebook_path> | jq '.cells[{index}].outputs'"
    return _ShownOutput("stream", text)


def _output(output: dict[str, Any]) -> _ShownOutput:
    stored = _known_fields(output, _StoredOutput)
    kind = str(stored.output_type)
    if kind == "error":
        trace = stored.traceback if isinstance(stored.traceback, list) else ()
        return _ShownOutput(kind, "\n".join(map(str, [f"{stored.ename}: {stored.evalue}", *trace])))
    if kind == "stream":
        return _ShownOutput(kind, _join(stored.text))
    data = stored.data if isinstance(stored.data, dict) else {}
    shown = _ShownOutput(kind, _join(data.get("text/plain")))
    for media_type in _IMAGES:
        if picture := _join(data.get(media_type)):
            shown.image = _Image("".join(picture.split()), media_type)
            break
    return shown


def _blocks(cells: list[_ShownCell]) -> list[ContentBlock]:
    blocks: list[ContentBlock] = []
    texts: list[str] = []
    for cell in cells:
        texts.append(_cell_text(cell))
        for output in cell.outputs or ():
            if output.text:
                texts.append("\n" + output.text)
            if output.image:
                blocks += [*_text_block(texts), _image_block(output.image)]
                texts = []
    return blocks + _text_block(texts)


def _cell_text(cell: _ShownCell) -> str:
    marks = "" if cell.cell_type == "code" else f"<cell_type>{cell.cell_type}</cell_type>"
    if cell.language is not UNSET and cell.language != "python":
        marks += f"<language>{cell.language}</language>"
    return f'<cell id="{cell.cell_id}">{marks}{cell.source}</cell id="{cell.cell_id}">'


def _text_block(texts: list[str]) -> list[ContentBlock]:
    return [{"text": "\n".join(texts), "type": "text"}] if texts else []


def _image_block(image: _Image) -> ContentBlock:
    source = {"data": image.image_data, "media_type": image.media_type, "type": "base64"}
    return {"type": "image", "source": source}
