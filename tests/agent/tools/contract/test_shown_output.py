from __future__ import annotations

import pytest

from bridle.agent.tools.contract import shown_output


@pytest.mark.parametrize(
    ("size_bytes", "said"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1KB"),
        (30010, "29.3KB"),
        (108894, "106.3KB"),
        (64 * 1024 * 1024, "64MB"),
        (1024**3, "1GB"),
        (1024**4, "1024GB"),
    ],
)
def test_sizes_read_as_recorded(size_bytes: int, said: str) -> None:
    assert shown_output.format_size(size_bytes) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.5, "0.5s"), (1, "1s"), (59.9, "59s"), (120, "2m 0s"), (90, "1m 30s"), (3661, "1h 1m 1s")]
)
def test_times_read_as_recorded(seconds: float, said: str) -> None:
    assert shown_output.format_timeout(seconds) == said


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\n\n  b  \n\n\n", "a\n\n  b"),
        ("\n \t\n  a\n", "  a"),
        ("  \n\n", ""),
        ("", ""),
        (" a", " a"),
    ],
)
def test_blank_lines_before_and_white_space_after_are_no_output(text: str, left: str) -> None:
    assert shown_output.trim_output(text) == left


def test_a_preview_ends_with_a_line_if_one_ends_in_its_second_half() -> None:
    assert shown_output.preview("x" * 1500 + "\n" + "y" * 5000) == "x" * 1500
    assert shown_output.preview("x" * 500 + "\n" + "y" * 5000) == "x" * 500 + "\n" + "y" * 1499
    assert shown_output.preview("x" * 2000) == "x" * 2000


def test_a_megabyte_of_blank_lines_is_trimmed_in_one_go() -> None:
    assert shown_output.trim_output(" " * 1_000_000 + "x") == " " * 1_000_000 + "x"
    assert shown_output.trim_output("\n" * 1_000_000 + "x") == "x"
