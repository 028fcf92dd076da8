"""The NotebookEdit tool: replaces, inserts or deletes one cell of a notebook."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path

from bridle.agent.tools.contract.in_thread import run_in_thread
from bridle.agent.tools.contract.tool import PathInput, ToolResult, failed_result, rejected_call
from bridle.agent.tools.contract.tool_paths import path_of_call, reject_invalid_path
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
from bridle.agent.tools.files.notebook import Cell, NotANotebook, Notebook, language, parse, source_of
from bridle.agent.tools.files.text_file import replace_broken_bytes

_BY_INDEX = re.compile(r"cell-(\d{1,9})")
# Since this minor version of format 4 every cell has an id.
_FIRST_MINOR_WITH_IDS = 5


class NotebookEditInput(PathInput, frozen=True):
    """The input of NotebookEdit."""

    notebook_path: str
    new_source: str
    cell_id: str | None = None
    cell_type: str | None = None
    edit_mode: str = "replace"


class NotebookEdit:
    """Changes cells of notebooks."""

    input_type = NotebookEditInput

    def __init__(self, folder: Callable[[], Path], memory: FileMemory) -> None:
        self._folder = folder
        self._memory = memory

    async def run(self, request: NotebookEditInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        """Change the cell."""
        return await run_in_thread(lambda cancelled: self._edit(request, cancelled))

    def _edit(self, request: NotebookEditInput, cancelled: threading.Event) -> ToolResult:
        path = path_of_call(request, self._folder(), request.notebook_path)
        if rejection := reject_invalid_path(request.notebook_path) or _reject_request(path, request):
            return rejection
        with self._memory.lock(path):
            try:
                current = read_current(path, "NotebookEdit")
                if current is None:
                    return rejected_call(NOT_READ)
                require_read(self._memory, path, current)
                return self._change(path, request, current, cancelled)
            except CannotChange as error:
                return error.result
            except NotANotebook as error:
                return failed_result(str(error))

    def _change(
        self, path: Path, request: NotebookEditInput, current: CurrentFile, cancelled: threading.Event
    ) -> ToolResult:
        import json  # late: few runs change a notebook

        original = current.text.text
        notebook = parse(original.removeprefix("\ufeff"))
        index = _index(notebook["cells"], request)
        cell, old = _changed(notebook, index, request)
        updated = json.dumps(notebook, indent=1, ensure_ascii=False) + ("\n" if original.endswith("\n") else "")
        mark = "\ufeff" if original.startswith("\ufeff") else ""
        data = encode_text(current, (mark + updated).replace("\n", current.text.newline), path)
        if error := write_file(self._memory, path, data, current=current, cancelled=cancelled):
            return error
        name = (
            request.cell_id
            if request.cell_id and request.edit_mode != "insert"
            else str(cell.get("id", f"cell-{index}"))
        )
        detail: dict[str, object] = {"new_source": request.new_source}
        if old is not None:
            detail["old_source"] = old
        detail |= {
            "cell_type": cell.get("cell_type", "code"),
            "language": language(notebook),
            "edit_mode": request.edit_mode,
            "cell_id": name,
            "error": "",
            "notebook_path": str(path),
            "original_file": replace_broken_bytes(original),
            "updated_file": replace_broken_bytes(updated),
        }
        return ToolResult(_summary(request, name), detail=detail)


def _reject_request(path: Path, request: NotebookEditInput) -> ToolResult | None:
    """Return an error for a call that is invalid for any notebook."""
    if path.suffix != ".ipynb":
        return rejected_call("File must be a Jupyter notebook (.ipynb file). For other files, use the Edit tool.")
    if request.edit_mode == "insert" and request.cell_type is None:
        return rejected_call("Cell type is required when using edit_mode=insert.")
    if request.edit_mode != "insert" and not request.cell_id:
        return rejected_call("Cell ID must be specified when not inserting a new cell.")
    return None


def _index(cells: list[Cell], request: NotebookEditInput) -> int:
    """Return the index of the cell, or of the new one."""
    if not request.cell_id:
        return 0
    after = 1 if request.edit_mode == "insert" else 0
    for index, cell in enumerate(cells):
        if cell.get("id") == request.cell_id:
            return index + after
    by_index = _BY_INDEX.fullmatch(request.cell_id)
    if by_index is None:
        raise CannotChange(rejected_call(f'Cell with ID "{request.cell_id}" not found in notebook.'))
    if int(by_index[1]) >= len(cells):
        raise CannotChange(rejected_call(f"Cell with index {by_index[1]} does not exist in notebook."))
    return int(by_index[1]) + after


def _changed(notebook: Notebook, index: int, request: NotebookEditInput) -> tuple[Cell, str | None]:
    """Change the notebook; return the affected cell and its previous source."""
    cells: list[Cell] = notebook["cells"]
    if request.edit_mode == "insert":
        cell = _new_cell(notebook, request)
        cells.insert(index, cell)
        return cell, None
    cell = cells[index]
    old = source_of(cell)
    if request.edit_mode == "delete":
        del cells[index]
        return cell, old
    cell["source"] = request.new_source
    if request.cell_type is not None:
        cell["cell_type"] = request.cell_type
    if cell.get("cell_type") == "code":
        cell |= {"execution_count": None, "outputs": []}
    else:
        cell.pop("execution_count", None)
        cell.pop("outputs", None)
    return cell, old


def _new_cell(notebook: Notebook, request: NotebookEditInput) -> Cell:
    cell: Cell = {"cell_type": request.cell_type}
    version = (notebook.get("nbformat"), notebook.get("nbformat_minor"))
    if all(isinstance(part, int) for part in version) and version >= (4, _FIRST_MINOR_WITH_IDS):
        cell["id"] = os.urandom(4).hex()
    cell |= {"source": request.new_source, "metadata": {}}
    if request.cell_type == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell


def _summary(request: NotebookEditInput, name: str) -> str:
    if request.edit_mode == "delete":
        return f"Deleted cell {name}"
    return f"{'Inserted' if request.edit_mode == 'insert' else 'Updated'} cell {name} with {request.new_source}"
