from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bridle.agent.tools.contract.declarations import EDIT, GLOB, GREP, NOTEBOOK_EDIT, READ, WEB_FETCH, WRITE
from tests.agent.fixtures.file_tool_calls import MEASURED, FileToolCalls, change_file, create_files, in_folder
from tests.agent.fixtures.shell_session import recorded

FILES = ("Read", "Write", "Edit", "NotebookEdit")

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
NOTEBOOK = (
    '{"cells": [{"cell_type": "code", "id": "c1", "execution_count": 1, "metadata": {}, "outputs": [{"output_type": '
    '"stream", "name": "stdout", "text": ["hi\\n"]}], "source": ["print(\'hi\')"]}], "metadata": {"language_info": '
    '{"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}'
)
# What the recordings were made in, as far as their results show it.
WORKPLACE: dict[str, dict[str, Any]] = {
    "src/app.py": {"text": "def add(a, b):\n    return a - b\n\n\nprint(add(1, 2))\n"},
    "README.md": {"text": "# demo\n"},
    "notes.txt": {"text": "alpha\nbeta\n\tgamma\n"},
    "long.txt": {"text": "".join(f"line {number}\n" for number in range(1, 3001))},
    "empty.txt": {"text": ""},
    "huge.txt": {"text": "0123456789" * 100_000},
    "p.png": {"base64": PNG},
    "nb.ipynb": {"text": NOTEBOOK},
    "big.txt": {"text": "".join(f"line number {number} padding padding padding\n" for number in range(3000))},
}


@pytest.mark.parametrize("name", ["text-files", "more-files", "notebooks", "paths"])
def test_files_are_shown_and_changed_as_measured(tmp_path: Path, name: str) -> None:
    scene = json.loads((MEASURED / f"{name}.json").read_text("utf-8"))
    folder = tmp_path / "workspace"
    folder.mkdir()
    create_files(folder, scene["files"])
    desk = FileToolCalls(folder)
    for step in scene["steps"]:
        if "act" in step:
            change_file(folder, *step["act"])
            continue
        answer = desk.call(step["tool"], **in_folder(step["input"], folder))
        wanted = in_folder([step["content"], step["is_error"], step["detail"]], folder)
        assert [answer.content, answer.is_error, answer.detail] == wanted, step["input"]
        _same_order(answer.detail, step["detail"])


@pytest.mark.parametrize("name", ["02-tools-basic", "23-tool-shapes", "26a-long-lines"])
def test_files_are_shown_and_changed_as_recorded(tmp_path: Path, name: str) -> None:
    create_files(tmp_path, {**WORKPLACE, "wide.txt": {"text": _wide()}, **_as_recorded(name)})
    desk = FileToolCalls(tmp_path)
    seen = 0
    for call, block, detail in recorded(name, *FILES):
        answer = desk.call(call["name"], **in_folder(call["input"], tmp_path))
        assert answer.content == in_folder(block["content"], tmp_path), call["input"]
        assert answer.is_error is block.get("is_error", False)
        assert answer.detail == in_folder(detail, tmp_path)
        _same_order(answer.detail, detail)
        seen += 1
    assert seen >= 3


def test_searches_are_answered_as_recorded(tmp_path: Path) -> None:
    create_files(tmp_path, {name: WORKPLACE[name] for name in ("src/app.py", "README.md", "notes.txt")})
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=60)
    desk = FileToolCalls(tmp_path)
    for call, block, detail in recorded("02b-tools-search", "Glob", "Grep"):
        answer = desk.call(call["name"], **in_folder(call["input"], tmp_path))
        assert answer.content == in_folder(block["content"], tmp_path), call["input"]
        wanted = in_folder(detail, tmp_path)
        if "durationMs" in wanted:
            wanted["durationMs"] = answer.detail["durationMs"]
        assert answer.detail == wanted
        assert list(answer.detail) == list(wanted)


@pytest.mark.parametrize("declaration", [READ, WRITE, EDIT, NOTEBOOK_EDIT, GLOB, GREP, WEB_FETCH], ids=lambda d: d.name)
def test_schemas_are_those_that_were_recorded(declaration: Any) -> None:
    schemas = json.loads((MEASURED / "declared-schemas.json").read_text("utf-8"))
    assert declaration.schema == schemas[declaration.name]
    assert list(declaration.schema["properties"]) == list(schemas[declaration.name]["properties"])


def _wide() -> str:
    """The one long line of a recorded file."""
    for call, _, detail in recorded("23-tool-shapes", "Read"):
        if call["input"]["file_path"].endswith("wide.txt"):
            return str(detail["file"]["content"])
    raise AssertionError("the recording has no wide.txt")


def _as_recorded(name: str) -> dict[str, dict[str, Any]]:
    """Files whose whole text an edit of the recording tells."""
    texts: dict[str, dict[str, Any]] = {}
    for call, _, detail in recorded(name, "Edit"):
        if isinstance(detail, dict) and detail["originalFile"]:
            texts.setdefault(Path(call["input"]["file_path"]).name, {"text": detail["originalFile"]})
    return {path: texts[path] for path in texts if path == "big.txt"}


def _same_order(got: Any, wanted: Any) -> None:
    """Keys come in the order in which the original writes them."""
    assert json.dumps(_keys(got)) == json.dumps(_keys(wanted))


def _keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _keys(inner) for key, inner in value.items()}
    return [_keys(inner) for inner in value] if isinstance(value, list) else None
