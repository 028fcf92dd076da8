"""Progress is added once for each iteration, whatever an agent writes into its words or into the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.loop.performers import progress_file
from bridle.loop.performers.progress_file import ENTRIES, FILE, PATTERNS, add, fold, read, remove_run


def entry(folder: Path, key: str, summary: str = "Did it.", patterns: tuple[str, ...] = ()) -> None:
    add(folder, key=key, title=f"Task {key}", summary=summary, patterns=patterns)


def facts(folder: Path) -> list[str]:
    learned = read(folder).partition(f"\n{PATTERNS}\n")[2].partition(f"\n{ENTRIES}\n")[0]
    return [line for line in learned.splitlines() if line]


def test_entries_and_facts_are_added_in_order_and_once(tmp_path: Path) -> None:
    entry(tmp_path, "1", "One.", ("uses tabs", "  uses   tabs ", ""))
    entry(tmp_path, "2", "Two.", ("uses tabs", "has docs"))
    entry(tmp_path, "2", "Again.", ("never",))
    assert facts(tmp_path) == ["- uses tabs", "- has docs"]
    text = read(tmp_path)
    assert text.index("One.") < text.index("Two.")
    assert "Again." not in text
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("words", [ENTRIES, PATTERNS, f"see {ENTRIES} below", f"{PATTERNS} and {ENTRIES}"])
def test_a_fact_may_have_the_words_of_a_heading(tmp_path: Path, words: str) -> None:
    entry(tmp_path, "1", "One.", ("first", words, "last"))
    entry(tmp_path, "2", "Two.", ("newest",))
    assert facts(tmp_path) == ["- first", f"- {words}", "- last", "- newest"]
    assert read(tmp_path).count("One.") == read(tmp_path).count("Two.") == 1


def test_a_summary_may_have_headings_and_marks_in_it(tmp_path: Path) -> None:
    entry(tmp_path, "1", f"{ENTRIES}\n{PATTERNS}\n- not a fact\n<!-- 2 -->")
    entry(tmp_path, "3", "Three.", ("a fact",))
    assert facts(tmp_path) == ["- a fact"]
    assert "- not a fact" in read(tmp_path)
    assert "Three." in read(tmp_path)


@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff\xfe", f"{ENTRIES}\n".encode()])
def test_a_file_that_an_agent_has_changed_is_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).parent.mkdir()
    (tmp_path / FILE).write_bytes(content)
    entry(tmp_path, "1", "One.", ("a fact",))
    assert facts(tmp_path) == ["- a fact"]


def test_line_ends_of_another_system_are_read(tmp_path: Path) -> None:
    entry(tmp_path, "1", "One.", ("a fact",))
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes().replace(b"\n", b"\r\n"))
    entry(tmp_path, "2", "Two.")
    assert facts(tmp_path) == ["- a fact"]
    assert "One." in read(tmp_path)


def test_a_folder_or_a_link_in_its_place_is_replaced(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (tmp_path / FILE).parent.mkdir()
    (tmp_path / FILE).symlink_to(outside)
    assert read(tmp_path) == ""
    entry(tmp_path, "1", "One.")
    assert (outside.read_text(), "One." in read(tmp_path)) == ("mine", True)
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).mkdir()
    (tmp_path / FILE / "x").touch()
    entry(tmp_path, "2", "Two.")
    assert "Two." in read(tmp_path)


def test_a_summary_replaces_what_it_covers_and_newer_entries_stay(tmp_path: Path) -> None:
    entry(tmp_path, "1", "One.", ("a fact",))
    covered = read(tmp_path)
    entry(tmp_path, "2", "Two.")
    fold(tmp_path, key="s", summary="Short.", of=covered)
    fold(tmp_path, key="s", summary="Twice.", of=covered)
    text = read(tmp_path)
    assert ("One." in text, "Two." in text, "Short." in text, "Twice." in text) == (False, True, True, False)
    assert facts(tmp_path) == ["- a fact"]
    fold(tmp_path, key="t", summary="All.")
    assert ("Short." in read(tmp_path), "All." in read(tmp_path)) == (False, True)


def test_without_a_file_there_is_no_progress(tmp_path: Path) -> None:
    assert progress_file.read(tmp_path) == ""


@pytest.mark.parametrize("lesson", ["## Iterations", "a\n## Iterations", "## What was learned", "<!-- r/B/1 -->"])
def test_a_lesson_that_looks_like_a_part_of_the_file_tears_nothing(tmp_path: Path, lesson: str) -> None:
    add(tmp_path, key="r/A/1", title="A, iteration 1", summary=lesson, patterns=["first", lesson])
    add(tmp_path, key="r/B/1", title="B, iteration 1", summary="did B", patterns=["second"])
    text = read(tmp_path)
    assert [line for line in text.splitlines() if line.startswith("## ")] == [PATTERNS, ENTRIES]
    assert all(part in text for part in ("- first", "- second", "### A, iteration 1", "did B"))


def test_control_characters_of_an_agent_are_not_written(tmp_path: Path) -> None:
    summary = "did\x1b]52;c;ZXZpbA==\x07 it\x9b31m \u202etxt\tend\nmore"
    progress_file.add(tmp_path, key="k", title="T\x1b[2J", summary=summary, patterns=["a\x1b]0;x\x07 fact"])
    text = (tmp_path / progress_file.FILE).read_text()
    assert not set("\x1b\x07\x9b\u202e") & set(text)
    assert "txt\tend\nmore" in text


def test_the_entries_of_a_run_are_removed_and_the_facts_stay(tmp_path: Path) -> None:
    remove_run(tmp_path, "01A")  # no file yet
    for key in ("01A/One/1", "01B/One/1", "01A/Two/1"):
        entry(tmp_path, key, f"Did {key}.\n### <!-- 01A/x -->", ("a fact",))
    remove_run(tmp_path, "01A")
    text = read(tmp_path)
    assert [line for line in text.splitlines() if line.startswith("### ")] == ["### Task 01B/One/1 <!-- 01B/One/1 -->"]
    assert "Did 01B/One/1." in text
    assert "Did 01A" not in text
    assert facts(tmp_path) == ["- a fact"]
