"""Where the user's own Bridle folder is."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.ground.home import bridle_home, find_home


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"BRIDLE_HOME": "/b", "HOME": "/h"}, "/b"),
        ({"BRIDLE_HOME": "", "HOME": "/h"}, "/h/.bridle"),
        ({"HOME": "/h"}, "/h/.bridle"),
    ],
)
def test_bridle_home_comes_before_home(environment: dict[str, str], folder: str) -> None:
    assert find_home(environment) == folder
    assert bridle_home(environment) == Path(folder)


def test_without_both_variables_the_account_has_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_home({}) is None
    assert bridle_home({}) == tmp_path / ".bridle"
