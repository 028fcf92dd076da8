"""The pages about settings and plans say what the program does."""

from __future__ import annotations

from tools.settings_reference import PAGE as SETTINGS_PAGE
from tools.settings_reference import reference


def test_the_page_of_settings_is_what_make_docs_would_write() -> None:
    assert SETTINGS_PAGE.read_text(encoding="utf-8") == reference(), "run `make docs`"
