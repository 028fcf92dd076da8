"""Notebooks (.ipynb): their cells and outputs as the model sees them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bridle.agent.tools.contract.shown_output import format_size as human_size
from bridle.agent.tools.contract.tool import ToolResult
from bridle.agent.tools.files.excerpt import open_regular
from bridle.agent.tools.files.known_files import KnownFile, View, canonical_path, file_digest
from bridle.agent.tools.files.text_file import decode, replace_broken_bytes

# A notebook that is not shown may still be looked into; one of this size holds data and not work.
LIMIT_BYTES = 64 * 1024 * 1024
# What all cells together may show; the original has the same number.
_SHOWN_LIMIT_BYTES = 256 * 1024
# What the outputs of one cell may show.
_OUTPUTS_LIMIT = 10_000
_IMAGES = ("image/png", "image/jpeg")


class NotANotebook(Exception):
    """What is wrong with the file, in words for the model."""


def load(path: Path) -> tuple[dict[str, Any], bytes, os.stat_result]:
    """The notebook, its bytes, and the state of the file it came from."""
    with open_regular(path) as file:
        state = os.fstat(file.fileno())
        if state.st_size > LIMIT_BYTES:
            raise NotANotebook(
                f"Notebook file ({human_size(state.st_size)}) exceeds maximum allowed size "
                f"({human_size(LIMIT_BYTES)}). Take the parts you need out of it with Bash and jq."
            )
        data = file.read()
    return parse(decode(data).raw.removeprefix("\ufeff")), data, state


def parse(text: str) -> dict[str, Any]:
    """The notebook that a text holds."""
    import json  # late: most runs read no notebook

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


def read_notebook(path: Path, given: str, view: View) -> tuple[ToolResult, KnownFile]:
    """All cells with their outputs, and the state that they are known in."""
    notebook, data, state = load(path)
    cells = [_cell(cell, index, language(notebook)) for index, cell in enumerate(notebook["cells"])]
    size = len(repr(cells))
    if size > _SHOWN_LIMIT_BYTES:
        raise NotANotebook(
            f"Notebook content ({human_size(size)}) exceeds maximum allowed size ({human_size(_SHOWN_LIMIT_BYTES)}). "
            f"Read parts of it with Bash and jq, for example the first 20 cells:\n  jq '.cells[:20]' \"{path}\""
        )
    known = KnownFile(canonical_path(path), state.st_mtime_ns, state.st_size, file_digest(data), view=view)
    content: str | list[dict[str, Any]] = _blocks(cells) or "(Read completed with no output)"
    return ToolResult(content, detail={"type": "notebook", "file": {"filePath": given, "cells": cells}}), known


def language(notebook: dict[str, Any]) -> str:
    """The language of its code cells."""
    information = notebook.get("metadata")
    information = information.get("language_info") if isinstance(information, dict) else None
    name = information.get("name") if isinstance(information, dict) else None
    return name if isinstance(name, str) else "python"


def source_of(cell: dict[str, Any]) -> str:
    """The text of a cell, which may be stored as a list of lines."""
    return _joined(cell.get("source", ""))


def _joined(value: Any) -> str:
    text = "".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""
    return replace_broken_bytes(text)


def _cell(cell: dict[str, Any], index: int, code_language: str) -> dict[str, Any]:
    kind = str(cell.get("cell_type", "code"))
    made: dict[str, Any] = {"cellType": kind, "source": source_of(cell)}
    if kind == "code" and cell.get("execution_count") is not None:
        made["execution_count"] = cell["execution_count"]
    identity = cell.get("id")
    made["cell_id"] = identity if isinstance(identity, str) and identity else f"cell-{index}"
    if kind == "code":
        made["language"] = code_language
        if outputs := [_output(output) for output in cell.get("outputs") or () if isinstance(output, dict)]:
            made["outputs"] = outputs if len(repr(outputs)) <= _OUTPUTS_LIMIT else [_left_out(index)]
    return made


def _left_out(index: int) -> dict[str, Any]:
    text = f"Outputs are too large to include. Use Bash with: cat <notebook_path> | jq '.cells[{index}].outputs'"
    return {"output_type": "stream", "text": text}


def _output(output: dict[str, Any]) -> dict[str, Any]:
    kind = str(output.get("output_type", ""))
    if kind == "error":
        trace = output.get("traceback")
        lines = [f"{output.get('ename')}: {output.get('evalue')}", *(trace if isinstance(trace, list) else ())]
        return {"output_type": kind, "text": "\n".join(map(str, lines))}
    if kind == "stream":
        return {"output_type": kind, "text": _joined(output.get("text"))}
    data = output.get("data")
    data = data if isinstance(data, dict) else {}
    made: dict[str, Any] = {"output_type": kind, "text": _joined(data.get("text/plain"))}
    for media_type in _IMAGES:
        if picture := _joined(data.get(media_type)):
            made["image"] = {"image_data": "".join(picture.split()), "media_type": media_type}
            break
    return made


def _blocks(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    texts: list[str] = []
    for cell in cells:
        texts.append(_cell_text(cell))
        for output in cell.get("outputs", ()):
            if output["text"]:
                texts.append("\n" + output["text"])
            if image := output.get("image"):
                blocks += [*_text_block(texts), _image_block(image)]
                texts = []
    return blocks + _text_block(texts)


def _cell_text(cell: dict[str, Any]) -> str:
    marks = "" if cell["cellType"] == "code" else f"<cell_type>{cell['cellType']}</cell_type>"
    if cell.get("language", "python") != "python":
        marks += f"<language>{cell['language']}</language>"
    return f'<cell id="{cell["cell_id"]}">{marks}{cell["source"]}</cell id="{cell["cell_id"]}">'


def _text_block(texts: list[str]) -> list[dict[str, Any]]:
    return [{"text": "\n".join(texts), "type": "text"}] if texts else []


def _image_block(image: dict[str, Any]) -> dict[str, Any]:
    source = {"data": image["image_data"], "media_type": image["media_type"], "type": "base64"}
    return {"type": "image", "source": source}
