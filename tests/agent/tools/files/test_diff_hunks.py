from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.agent.tools.files.diff_hunks import structured_patch
from tests.agent.fixtures.file_tool_calls import MEASURED

CASES: list[dict[str, Any]] = json.loads((MEASURED / "patches.json").read_text("utf-8"))
TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n", " x\n"]), max_size=25).map("".join)


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_patches_are_those_that_were_measured(case: dict[str, Any]) -> None:
    assert structured_patch(case["old"], case["new"]) == case["patch"]


@given(TEXTS, TEXTS, st.sampled_from(["", "e", "f"]), st.sampled_from(["", "e", "f"]))
def test_a_patch_leads_from_the_old_text_to_the_new_one(old: str, new: str, old_end: str, new_end: str) -> None:
    old, new = old + old_end, new + new_end
    assert _applied(old, structured_patch(old, new)) == new


@given(TEXTS, TEXTS)
def test_a_hunk_counts_its_lines(old: str, new: str) -> None:
    for hunk in structured_patch(old, new):
        kinds = [line[0] for line in hunk["lines"] if line[0] != "\\"]
        assert hunk["oldLines"] == sum(kind in " -" for kind in kinds)
        assert hunk["newLines"] == sum(kind in " +" for kind in kinds)


def test_a_patch_of_two_long_texts_with_little_in_common_is_still_right() -> None:
    old = "".join(f"old {number}\nshared\n" for number in range(3000))
    new = "".join(f"new {number}\nshared\n" for number in range(3000))
    assert _applied(old, structured_patch(old, new)) == new


def test_a_huge_patch_is_not_made() -> None:
    assert structured_patch("a\n" * 15_000, "b\n" * 15_000) == []


def test_only_a_newline_ends_a_line() -> None:
    (hunk,) = structured_patch("a\u2028b\x0bc\n", "a\u2028b\x0bd\n")
    assert hunk["lines"] == ["-a\u2028b\x0bc", "+a\u2028b\x0bd"]


def _applied(old: str, hunks: list[dict[str, Any]]) -> str:
    source = old.split("\n")
    lines = [line + "\n" for line in source[:-1]] + ([source[-1]] if source[-1] else [])
    made: list[str] = []
    position = 0
    last = " "
    for hunk in hunks:
        made += lines[position : hunk["oldStart"] - 1]
        position = hunk["oldStart"] - 1
        for line in hunk["lines"]:
            if line[0] == "\\":
                if last != "-":
                    made[-1] = made[-1].removesuffix("\n")
                continue
            last = line[0]
            if last in " -":
                assert lines[position].removesuffix("\n") == line[1:]
                position += 1
            if last in " +":
                made.append(line[1:] + "\n")
    return "".join(made + lines[position:])
