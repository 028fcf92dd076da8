"""The generated page of commands says what the program does."""

from __future__ import annotations

from tools import man_page
from tools.command_reference import PAGE, reference


def test_the_page_of_commands_is_what_make_docs_would_write() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "run `make docs`"


def test_the_page_is_the_same_in_any_terminal() -> None:
    assert all(len(line) <= 100 for line in reference().splitlines() if line.startswith("  "))


def test_the_man_page_is_what_make_docs_would_write() -> None:
    assert man_page.PAGE.read_text(encoding="utf-8") == man_page.page(), "run `make docs`"


def test_the_help_of_every_command_names_the_short_help_option() -> None:
    sections = reference().split("\n### ")[1:]
    assert len(sections) > 40
    assert [section.splitlines()[0] for section in sections if "  -h, --help" not in section] == []
