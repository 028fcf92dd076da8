"""A unified diff in two columns."""

from __future__ import annotations

import pytest

from bridle.views.run_data.diff_rows import Row, side_by_side


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        ([], []),
        (["+a"], [(None, None, None, "a", "add")]),
        (["-a"], [(None, "a", None, None, "del")]),
        (
            ["@@ -3,2 +3,3 @@", " same", "-old", "+new", "+more", " end"],
            [
                (3, "same", 3, "same", "same"),
                (4, "old", 4, "new", "change"),
                (None, None, 5, "more", "add"),
                (5, "end", 6, "end", "same"),
            ],
        ),
        (["-a", "+b", "-c", "+d"], [(None, "a", None, "b", "change"), (None, "c", None, "d", "change")]),
        (["@@", " a"], [(None, "a", None, "a", "same")]),
        (
            ["-a", "\\ No newline at end of file", "+b"],
            [(None, "a", None, None, "del"), (None, None, None, "b", "add")],
        ),
        ([""], [(None, "", None, "", "same")]),
    ],
)
def test_rows(lines: list[str], rows: list[Row]) -> None:
    assert side_by_side(lines) == rows


def test_a_whole_new_text_is_numbered_from_its_first_line() -> None:
    assert side_by_side(["+a", "+"], first=1) == [(None, None, 1, "a", "add"), (None, None, 2, "", "add")]
