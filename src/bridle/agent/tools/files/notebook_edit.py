"""NotebookEdit: one cell of a notebook replaced, added or taken away."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.agent.tools.contract.declarations import NOTEBOOK_EDIT
from bridle.agent.tools.contract.in_thread import run_in_thread
from bridle.agent.tools.contract.tool import ToolResult, failed_result, rejected_call
from bridle.agent.tools.contract.tool_paths import reject_invalid_path, resolve_path
from bridle.agent.tools.files.change import (
    NOT_READ,
    CannotChange,
    CurrentFile,
    encode_text,
    read_current,
    require_read,
    write_file,
)
from bridle.agent.tools.files.known_files import FileMemory
from bridle.agent.tools.files.notebook import NotANotebook, language, parse, source_of
from bridle.agent.tools.files.text_file import replace_broken_bytes

_BY_INDEX = re.compile(r"cell-(\d{1,9})")
# From this minor version of format 4 on, every cell has an id.
_FIRST_MINOR_WITH_IDS = 5

_Cell = dict[str, Any]


@dataclass(frozen=True)
class _Request:
    cell_id: str | None
    source: str
    kind: str | None
    mode: str


class NotebookEdit:
    """Changes cells of notebooks."""

    name = NOTEBOOK_EDIT.name
    description = NOTEBOOK_EDIT.description
    schema = NOTEBOOK_EDIT.schema

    def __init__(self, folder: Callable[[], Path], memory: FileMemory) -> None:
        self._folder = folder
        self._memory = memory

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:  # noqa: ARG002 - as every tool
        """Change the cell."""
        request = _Request(
            arguments.get("cell_id"),
            arguments["new_source"],
            arguments.get("cell_type"),
            arguments.get("edit_mode", "replace"),
        )
        return await run_in_thread(lambda abandoned: self._edit(arguments["notebook_path"], request, abandoned))

    def _edit(self, given: str, request: _Request, abandoned: threading.Event) -> ToolResult:
        path = resolve_path(self._folder(), given)
        if answer := reject_invalid_path(given) or _unclear(path, request):
            return answer
        with self._memory.alone(path):
            try:
                found = read_current(path, self.name)
                if found is None:
                    return rejected_call(NOT_READ)
                require_read(self._memory, path, found)
                return self._change(path, request, found, abandoned)
            except CannotChange as error:
                return error.answer
            except NotANotebook as error:
                return failed_result(str(error))

    def _change(self, path: Path, request: _Request, found: CurrentFile, abandoned: threading.Event) -> ToolResult:
        import json  # late: most runs change no notebook

        original = found.text.text
        notebook = parse(original.removeprefix("\ufeff"))
        index = _index(notebook["cells"], request)
        cell, old = _changed(notebook, index, request)
        updated = json.dumps(notebook, indent=1, ensure_ascii=False) + ("\n" if original.endswith("\n") else "")
        mark = "\ufeff" if original.startswith("\ufeff") else ""
        data = encode_text(found, (mark + updated).replace("\n", found.text.newline), path)
        if answer := write_file(self._memory, path, data, found=found, abandoned=abandoned):
            return answer
        name = request.cell_id if request.cell_id and request.mode != "insert" else str(cell.get("id", f"cell-{index}"))
        detail: dict[str, Any] = {"new_source": request.source}
        if old is not None:
            detail["old_source"] = old
        detail |= {
            "cell_type": cell.get("cell_type", "code"),
            "language": language(notebook),
            "edit_mode": request.mode,
            "cell_id": name,
            "error": "",
            "notebook_path": str(path),
            "original_file": replace_broken_bytes(original),
            "updated_file": replace_broken_bytes(updated),
        }
        return ToolResult(_said(request, name), detail=detail)


def _unclear(path: Path, request: _Request) -> ToolResult | None:
    """What is wrong with the call whatever the notebook holds."""
    if path.suffix != ".ipynb":
        return rejected_call("File must be a Jupyter notebook (.ipynb file). For other files, use the Edit tool.")
    if request.mode == "insert" and request.kind is None:
        return rejected_call("Cell type is required when using edit_mode=insert.")
    if request.mode != "insert" and not request.cell_id:
        return rejected_call("Cell ID must be specified when not inserting a new cell.")
    return None


def _index(cells: list[_Cell], request: _Request) -> int:
    """Where the cell is, or where the new one goes."""
    if not request.cell_id:
        return 0
    after = 1 if request.mode == "insert" else 0
    for index, cell in enumerate(cells):
        if cell.get("id") == request.cell_id:
            return index + after
    by_index = _BY_INDEX.fullmatch(request.cell_id)
    if by_index is None:
        raise CannotChange(rejected_call(f'Cell with ID "{request.cell_id}" not found in notebook.'))
    if int(by_index[1]) >= len(cells):
        raise CannotChange(rejected_call(f"Cell with index {by_index[1]} does not exist in notebook."))
    return int(by_index[1]) + after


def _changed(notebook: dict[str, Any], index: int, request: _Request) -> tuple[_Cell, str | None]:
    """Change the notebook; the cell that it is about, and what it held before."""
    cells: list[_Cell] = notebook["cells"]
    if request.mode == "insert":
        cell = _new_cell(notebook, request)
        cells.insert(index, cell)
        return cell, None
    cell = cells[index]
    old = source_of(cell)
    if request.mode == "delete":
        del cells[index]
        return cell, old
    cell["source"] = request.source
    if request.kind is not None:
        cell["cell_type"] = request.kind
    if cell.get("cell_type") == "code":
        cell |= {"execution_count": None, "outputs": []}
    else:
        cell.pop("execution_count", None)
        cell.pop("outputs", None)
    return cell, old


def _new_cell(notebook: dict[str, Any], request: _Request) -> _Cell:
    cell: _Cell = {"cell_type": request.kind}
    version = (notebook.get("nbformat"), notebook.get("nbformat_minor"))
    if all(isinstance(part, int) for part in version) and version >= (4, _FIRST_MINOR_WITH_IDS):
        cell["id"] = os.urandom(4).hex()
    cell |= {"source": request.source, "metadata": {}}
    if request.kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell


def _said(request: _Request, name: str) -> str:
    if request.mode == "delete":
        return f"Deleted cell {name}"
    return f"{'Inserted' if request.mode == 'insert' else 'Updated'} cell {name} with {request.source}"
