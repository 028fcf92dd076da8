"""File checkpoints: what each prompt found, and the way back to it, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.agent.tools.checkpoints.file_checkpoints import Checkpoint, FileCheckpoints
from bridle.agent.tools.checkpoints.rewind import preview, rewind


class Project:
    """A folder whose files are changed between prompts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.backups = folder / "project", folder / "backups"
        self.folder.mkdir()
        self.recorded: list[Checkpoint] = []
        self.checkpoints = self.resumed([])

    def resumed(self, known: list[Checkpoint]) -> FileCheckpoints:
        return FileCheckpoints(self.backups, self.folder, self.recorded.append, known)

    def write(self, name: str, data: bytes, mode: int = 0o644) -> None:
        path = self.folder / name
        self.checkpoints.before_change(path)
        path.write_bytes(data)
        path.chmod(mode)

    def rewind(self, message_id: str) -> dict[str, tuple[bytes, int]]:
        files = self.checkpoints.files_at(message_id)
        assert files is not None
        assert rewind(files).failures == []
        return self.now()

    def now(self) -> dict[str, tuple[bytes, int]]:
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {path.name: (path.read_bytes(), path.stat().st_mode & 0o777) for path in paths}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path.resolve())


def test_every_checkpoint_can_be_reached_in_any_order(project: Project) -> None:
    (project.folder / "old.bin").write_bytes(b"\xff\x00\r\n")
    states = {}
    for turn, change in enumerate([b"one\n", b"\x00two", b"three"]):
        states[str(turn)] = project.now()
        project.checkpoints.begin(str(turn))
        project.write("old.bin", change, 0o755)
        project.write(f"new{turn}.txt", change)
        (project.folder / "new0.txt").chmod(0o600)
    states["end"] = project.now()
    project.checkpoints.begin("end")
    for message_id in ("0", "end", "2", "1", "end", "0"):
        assert project.rewind(message_id) == states[message_id]


def test_a_file_that_something_else_deleted_comes_back(project: Project) -> None:
    project.checkpoints.begin("a")
    project.write("made.txt", b"x", 0o640)
    project.checkpoints.begin("b")
    (project.folder / "made.txt").unlink()
    assert project.rewind("b") == {"made.txt": (b"x", 0o640)}
    assert project.rewind("a") == {}


def test_a_file_that_no_tool_has_changed_is_left_alone(project: Project) -> None:
    project.checkpoints.begin("a")
    (project.folder / "other.txt").write_bytes(b"by a command")
    assert project.rewind("a") == {"other.txt": (b"by a command", 0o644)}


def test_a_preview_counts_lines_and_changes_nothing(project: Project) -> None:
    (project.folder / "a.txt").write_bytes(b"1\n2\n3\n")
    project.checkpoints.begin("a")
    project.write("a.txt", b"1\n3\n4\n")
    project.write("b.txt", b"x\ny\n")
    before, files = project.now(), project.checkpoints.files_at("a")
    assert files is not None
    seen = preview(files)
    assert seen.files_changed == [str(project.folder / "a.txt"), str(project.folder / "b.txt")]
    assert (seen.insertions, seen.deletions) == (1, 3)
    assert project.now() == before


def test_a_link_in_the_place_of_a_file_is_not_followed(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_bytes(b"keep")
    project.checkpoints.begin("a")
    project.write("a.txt", b"x")
    (project.folder / "a.txt").unlink()
    (project.folder / "a.txt").symlink_to(outside)
    files = project.checkpoints.files_at("a")
    assert files is not None
    assert rewind(files).skipped_links == 1
    assert outside.read_bytes() == b"keep"


def test_a_resumed_session_knows_the_checkpoints_that_were_recorded(project: Project) -> None:
    project.checkpoints.begin("a")
    project.write("a.txt", b"one")
    project.checkpoints.begin("b")
    project.write("a.txt", b"two")
    project.checkpoints = project.resumed(list(project.recorded[-2:]))
    project.checkpoints.begin("c")
    project.write("a.txt", b"three")
    assert project.rewind("b") == {"a.txt": (b"one", 0o644)}
    assert project.rewind("a") == {}
    assert project.rewind("c") == {"a.txt": (b"two", 0o644)}


def test_an_unknown_message_has_no_checkpoint(project: Project) -> None:
    project.checkpoints.begin("a")
    assert project.checkpoints.files_at("b") is None
