from __future__ import annotations

import pytest

from bridle.wire.project_folder import project_folder_name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/srv/a b.c/dé_x", "-srv-a-b-c-d--x"),
        ("/srv/ü 🚀 y", "-srv------y"),  # the rocket is two code units
        ("/" + "y" * 300, "-" + "y" * 199 + "-j6t6y7"),
        (f"/srv/{'d' * 90}/{'d' * 100}/ü 🚀 y", f"-srv-{'d' * 90}-{'d' * 100}-----jrfkp3"),
    ],
)
def test_a_name_is_that_of_claude_code(path: str, name: str) -> None:
    assert project_folder_name(path) == name
