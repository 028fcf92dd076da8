"""Skills and agents by the names in their folders, whoever put them there."""

from __future__ import annotations

from pathlib import Path

from bridle.hosts.hooks.list_skills import ENTRIES_LIMIT, NAMES_LIMIT, list_skills


def skill(folder: Path, name: str) -> None:
    (folder / "skills" / name).mkdir(parents=True)
    (folder / "skills" / name / "SKILL.md").write_bytes(b"")


def agent(folder: Path, name: str) -> None:
    (folder / "agents").mkdir(parents=True, exist_ok=True)
    (folder / "agents" / name).write_bytes(b"")


def test_those_of_the_project_come_first_and_each_is_named_once(tmp_path: Path) -> None:
    project, plugin = tmp_path / "project" / ".claude", tmp_path / "plugin"
    for name in ("b", "a"):
        skill(project, name)
    agent(project, "z.md")
    skill(plugin, "a")
    skill(plugin, "score")
    agent(plugin, "y.md")
    found = list_skills(str(tmp_path / "project"), str(plugin))
    assert found == ("skill:a", "skill:b", "agent:z", "skill:score", "agent:y")


def test_names_that_cannot_stand_in_a_sentence_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / ".claude"
    for name in ("good", ".hidden", "two\nlines", "bell\a", "a,b", "x" * 65):
        skill(folder, name)
        agent(folder, f"{name}.md")
    agent(folder, "notes.txt")
    assert list_skills(str(tmp_path), None) == ("skill:good", "agent:good")


def test_ten_are_enough(tmp_path: Path) -> None:
    for number in range(12):
        skill(tmp_path / ".claude", f"s{number:02}")
    assert list_skills(str(tmp_path), None) == tuple(f"skill:s{number:02}" for number in range(NAMES_LIMIT))


def test_a_folder_of_very_many_names_is_not_read_through(tmp_path: Path) -> None:
    (tmp_path / ".claude" / "agents").mkdir(parents=True)
    for number in range(ENTRIES_LIMIT + 5):
        (tmp_path / ".claude" / "agents" / f"{number}.md").touch()
    assert len(list_skills(str(tmp_path), None)) == NAMES_LIMIT


def test_folders_that_are_invalid_have_nothing(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "skills").write_bytes(b"")
    assert list_skills(str(tmp_path), "/nowhere") == list_skills("/a\0b", None) == list_skills("\ud800", None) == ()
