"""Files that are open in an editor, with the official client: unsaved text is read, and never overwritten."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bridle.agent.acp.editor_files import FileMethods
from tests.agent.fixtures.acp_editor import OpenEditor, editor_on_stage
from tests.fixtures.bridle_program import BRIDLE_AGENT

pytestmark = pytest.mark.real

DONE = {"blocks": ["Done."]}


def calls(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"blocks": [{"type": "tool_use", "name": tool, "input": arguments}]}


def run(folder: Path, *answers: dict[str, Any], unsaved: dict[str, str] | None) -> tuple[OpenEditor, str]:
    """Run one turn with a saved file; return the editor, and what the model was sent last."""
    path = folder / "workspace" / "a.txt"
    path.parent.mkdir()
    path.write_text("saved\n")

    async def turn() -> tuple[OpenEditor, str]:
        buffers = (
            None if unsaved is None else {str(folder / "workspace" / name): text for name, text in unsaved.items()}
        )
        script = {"answers": [calls("Read", file_path=str(path)), *answers, DONE]}
        async with editor_on_stage(folder, script, str(BRIDLE_AGENT), "acp", buffers=buffers) as opened:
            await opened.open()
            await opened.prompt("go")
            return opened, json.dumps(opened.stage.requests[-1].body["messages"])

    return asyncio.run(turn())


def edit(folder: Path) -> dict[str, Any]:
    return calls("Edit", file_path=str(folder / "workspace" / "a.txt"), old_string="saved", new_string="edited")


def test_the_model_gets_the_unsaved_text_of_a_file_that_it_reads(tmp_path: Path) -> None:
    _, sent = run(tmp_path, unsaved={"a.txt": "typed but not saved\n"})
    assert "typed but not saved" in sent


def test_a_file_with_unsaved_changes_is_not_changed(tmp_path: Path) -> None:
    opened, sent = run(tmp_path, edit(tmp_path), unsaved={"a.txt": "typed but not saved\n"})
    assert (tmp_path / "workspace" / "a.txt").read_text() == "saved\n"
    assert "Ask the user to save or discard them" in sent
    assert opened.editor.written == []


@pytest.mark.parametrize("unsaved", [{"a.txt": "saved\r\n"}, {}], ids=["saved", "not open"])
def test_the_editor_gets_the_new_text_of_a_file(tmp_path: Path, unsaved: dict[str, str]) -> None:
    opened, sent = run(tmp_path, edit(tmp_path), unsaved=unsaved)
    assert (tmp_path / "workspace" / "a.txt").read_text() == "edited\n"
    assert opened.editor.written == [(str(tmp_path / "workspace" / "a.txt"), "edited\n")]
    assert "not saved" not in sent


def test_an_editor_that_offers_no_files_is_not_asked(tmp_path: Path) -> None:
    opened, _ = run(tmp_path, edit(tmp_path), unsaved=None)
    assert (tmp_path / "workspace" / "a.txt").read_text() == "edited\n"
    assert opened.editor.written == []


@pytest.mark.parametrize(
    ("params", "methods"),
    [
        ({}, FileMethods()),
        ({"clientCapabilities": {"fs": None}}, FileMethods()),
        ({"clientCapabilities": {"fs": {"readTextFile": True}}}, FileMethods(reads=True)),
        ({"clientCapabilities": {"fs": {"writeTextFile": True, "readTextFile": 1}}}, FileMethods(writes=True)),
    ],
)
def test_only_what_an_editor_offers_is_used(params: dict[str, Any], methods: FileMethods) -> None:
    assert FileMethods.of(params) == methods
