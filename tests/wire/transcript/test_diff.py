"""File changes as diffs, in bounded work."""

from __future__ import annotations

from bridle.wire.events.decode_tolerant import convert
from bridle.wire.mask import Mask
from bridle.wire.transcript import diff
from bridle.wire.transcript.clip import Clip
from bridle.wire.transcript.file_changes import file_change
from bridle.wire.transcript.tool_details import ToolDetails

CLIP = Clip(Mask())


def test_texts_are_compared_line_by_line_and_their_place_is_not_invented() -> None:
    change = diff.from_texts("f", "edit", [("a\nb\nc\n", "a\nB\nc\n"), ("d", "")], CLIP)
    assert change.lines == (" a", "-b", "+B", " c", "@@", "-d")
    assert (change.added, change.removed, change.omitted_lines) == (1, 2, 0)


def test_huge_texts_are_compared_by_their_ends_and_counted_in_full() -> None:
    lines = [f"line {number}" for number in range(200_000)]
    before, after = "\n".join(lines), "\n".join([*lines[:100], *lines[150_000:]])
    change = diff.from_texts("f", "edit", [(before, after)], CLIP)
    assert (change.added, change.removed) == (0, 149_900)
    assert len(change.lines) == diff.KEPT_LINES
    assert change.omitted_lines == 149_900 - diff.KEPT_LINES


def test_a_huge_line_is_cut() -> None:
    change = diff.from_texts("f", "write", [("", "x" * 1_000_000)], CLIP)
    assert [len(line) for line in change.lines] == [diff.KEPT_LINE_CHARACTERS]


def test_equal_texts_have_no_diff() -> None:
    assert diff.from_texts("f", "edit", [("same\n" * 3000, "same\n" * 3000)], CLIP).lines == ()
    assert diff.from_texts("f", "edit", [("same", "same")], CLIP).lines == ()


def test_a_patch_with_nonsense_in_it_keeps_what_makes_sense() -> None:
    reported = {"structuredPatch": [None, {"lines": ["+a", 1, None]}, {"oldStart": "x"}]}
    change = file_change("Edit", {"file_path": "f"}, convert(reported, ToolDetails), CLIP)
    assert change is not None
    assert change.lines == ("@@ -0,0 +0,0 @@", "+a", "@@ -0,0 +0,0 @@")
    assert change.added == 1
