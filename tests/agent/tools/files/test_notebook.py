from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.fixtures.file_tool_calls import FileToolCalls


def _cell(kind: str, source: str, **more: Any) -> dict[str, Any]:
    extra = {"execution_count": 1, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, **extra, "source": source, **more}


def _notebook(*cells: dict[str, Any], minor: int = 5) -> str:
    return json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": minor})


def _known(folder: Path, text: str) -> FileToolCalls:
    (folder / "a.ipynb").write_text(text)
    desk = FileToolCalls(folder)
    assert not desk.call("Read", file_path="a.ipynb").is_error
    return desk


def _cells(folder: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads((folder / "a.ipynb").read_text("utf-8"))["cells"]
    return cells


def test_a_cell_is_replaced_and_loses_its_outputs(tmp_path: Path) -> None:
    output = {"output_type": "stream", "name": "stdout", "text": "hi"}
    desk = _known(tmp_path, _notebook(_cell("code", "1", id="c1", outputs=[output])) + "\n")
    answer = desk.call("NotebookEdit", notebook_path="a.ipynb", cell_id="c1", new_source="é = 2")
    assert answer.content == "Updated cell c1 with é = 2"
    assert _cells(tmp_path) == [_cell("code", "é = 2", id="c1", execution_count=None)]
    text = (tmp_path / "a.ipynb").read_text("utf-8")
    assert text.startswith('{\n "cells": [\n  {')
    assert text.endswith("}\n")
    assert "é" in text
    assert answer.detail["updated_file"] == text


def test_a_cell_is_added_after_another_or_at_the_start(tmp_path: Path) -> None:
    desk = _known(tmp_path, _notebook(_cell("code", "1", id="c1"), _cell("code", "2", id="c2")))
    arguments = {"notebook_path": "a.ipynb", "cell_type": "markdown", "edit_mode": "insert"}
    answer = desk.call("NotebookEdit", **arguments, new_source="between", cell_id="c1")
    desk.call("NotebookEdit", **arguments, new_source="first")
    assert [cell["source"] for cell in _cells(tmp_path)] == ["first", "1", "between", "2"]
    assert _cells(tmp_path)[2]["id"] == answer.detail["cell_id"]
    assert "outputs" not in _cells(tmp_path)[2]
    assert "old_source" not in answer.detail


def test_an_old_notebook_gets_no_ids(tmp_path: Path) -> None:
    desk = _known(tmp_path, _notebook(_cell("code", "1"), minor=2))
    answer = desk.call(
        "NotebookEdit", notebook_path="a.ipynb", cell_id="cell-0", new_source="2", cell_type="code", edit_mode="insert"
    )
    assert answer.content == "Inserted cell cell-1 with 2"
    assert all("id" not in cell for cell in _cells(tmp_path))


def test_a_cell_is_taken_away(tmp_path: Path) -> None:
    desk = _known(tmp_path, _notebook(_cell("code", "1", id="c1"), _cell("markdown", "2", id="m1")))
    answer = desk.call("NotebookEdit", notebook_path="a.ipynb", cell_id="c1", new_source="", edit_mode="delete")
    assert answer.content == "Deleted cell c1"
    assert answer.detail["old_source"] == "1"
    assert [cell["source"] for cell in _cells(tmp_path)] == ["2"]


def test_a_cell_of_another_kind_has_what_that_kind_has(tmp_path: Path) -> None:
    desk = _known(tmp_path, _notebook(_cell("code", "1", id="c1"), _cell("markdown", "2", id="m1")))
    arguments = {"notebook_path": "a.ipynb", "new_source": "x"}
    desk.call("NotebookEdit", **arguments, cell_id="c1", cell_type="markdown")
    desk.call("NotebookEdit", **arguments, cell_id="m1", cell_type="code")
    first, second = _cells(tmp_path)
    assert {"outputs", "execution_count"}.isdisjoint(first)
    assert (second["outputs"], second["execution_count"]) == ([], None)


def test_a_notebook_that_was_changed_must_be_read_again(tmp_path: Path) -> None:
    desk = _known(tmp_path, _notebook(_cell("code", "1", id="c1")))
    (tmp_path / "a.ipynb").write_text(_notebook(_cell("code", "other", id="c1")))
    said = desk.error("NotebookEdit", notebook_path="a.ipynb", cell_id="c1", new_source="2")
    assert "File has been modified since read" in said


@pytest.mark.parametrize(
    "text",
    ["", "{not json", "[]", "null", '{"cells": 1}', '{"cells": [1]}', "[" * 100_000, '{"cells": null}'],
    ids=lambda text: text[:12],
)
def test_what_is_no_notebook_gets_a_clear_answer(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.ipynb").write_text(text)
    assert FileToolCalls(tmp_path).error("Read", file_path="a.ipynb").startswith("Notebook file is not ")


def test_a_notebook_with_odd_cells_is_still_shown(tmp_path: Path) -> None:
    odd: list[dict[str, Any]] = [
        {},
        {"cell_type": "code", "source": 5, "outputs": "none"},
        {"cell_type": "code", "source": ["a", "b"], "outputs": [1, {"output_type": "error", "traceback": None}]},
        {
            "cell_type": "code",
            "id": 7,
            "outputs": [{"output_type": "display_data", "data": {"image/png": ["AA\n", "BB"]}}],
        },
        {"cell_type": "code", "outputs": [{"output_type": "stream", "text": "z" * 20_000}]},
    ]
    (tmp_path / "a.ipynb").write_text(_notebook(*odd))
    answer = FileToolCalls(tmp_path).call("Read", file_path="a.ipynb")
    assert not answer.is_error
    assert isinstance(answer.content, list)
    assert answer.content[1]["source"] == {"data": "AABB", "media_type": "image/png", "type": "base64"}
    assert "Outputs are too large to include" in answer.content[2]["text"]


def test_a_notebook_that_is_too_long_to_show_is_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(_notebook(_cell("code", "z" * 400_000, id="c1")))
    said = FileToolCalls(tmp_path).error("Read", file_path="a.ipynb")
    assert said.startswith("Notebook content (390.")
    assert "jq" in said


def test_another_language_is_named(tmp_path: Path) -> None:
    notebook = json.loads(_notebook(_cell("code", "x <- 1", id="c1")))
    notebook["metadata"] = {"language_info": {"name": "R"}}
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook))
    answer = FileToolCalls(tmp_path).call("Read", file_path="a.ipynb")
    assert isinstance(answer.content, list)
    assert answer.content[0]["text"] == '<cell id="c1"><language>R</language>x <- 1</cell id="c1">'
