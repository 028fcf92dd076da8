"""The files of a task list: those that Claude Code 2.1.197 writes for the same calls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridle.agent.tools.todo.restore_tasks import restore_task
from bridle.agent.tools.todo.task_files import TaskFiles
from bridle.agent.tools.todo.task_items import TaskItems, TaskUpdateInput

# What Claude Code 2.1.197 wrote on 2026-11-18.
SECOND = """{
  "id": "2",
  "subject": "Do B",
  "description": "d2",
  "owner": "me",
  "status": "pending",
  "blocks": [],
  "blockedBy": [
    "1"
  ],
  "metadata": {
    "a": 2
  }
}"""


def items(folder: Path) -> TaskItems:
    found = TaskItems()
    found.on_changed = TaskFiles(folder).save
    return found


def update(found: TaskItems, task_id: str, **fields: object) -> None:
    item = found.find(task_id)
    assert item is not None
    found.update(item, TaskUpdateInput(task_id=task_id, **fields))  # type: ignore[arg-type]
    found.on_changed(found)


def test_each_task_is_a_file_as_it_was_measured(tmp_path: Path) -> None:
    folder = tmp_path / "tasks" / "id"
    found = items(folder)
    found.add("Do A", "d", "Doing A", {"k": 1})
    found.add("Do B", "d2", None, {})
    update(found, "2", add_blocked_by=["1"], owner="me", metadata={"a": 2})
    assert (folder / "2.json").read_text() == SECOND
    assert json.loads((folder / "1.json").read_text())["activeForm"] == "Doing A"
    assert sorted(path.name for path in folder.iterdir()) == [".lock", "1.json", "2.json"]


def test_the_file_of_a_removed_task_is_removed_and_its_number_kept(tmp_path: Path) -> None:
    found = items(tmp_path)
    found.add("Do A", "", None, {})
    found.remove(found.add("Do B", "", None, {}))
    found.on_changed(found)
    assert (tmp_path / ".highwatermark").read_text() == "2"
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["1.json"]


def test_a_folder_that_cannot_be_written_does_not_stop_the_list(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = items(tmp_path / "file" / "tasks")
    assert found.add("Do A", "", None, {}).id == "1"


@pytest.mark.parametrize("task_id", ["../../outside", "/etc/x", "", "1/2", "9" * 5000, "2\n"])
def test_a_task_of_a_transcript_with_another_name_than_a_number_is_no_task(tmp_path: Path, task_id: str) -> None:
    found = items(tmp_path / "tasks" / "id")
    restore_task(found, "TaskCreate", {"subject": "s"}, {"task": {"id": task_id}})
    assert found.add("Do A", "", None, {}).id == "1"
    assert sorted(path.name for path in tmp_path.rglob("*.json")) == ["1.json"]
