from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bridle.loop.control.push_target import find_remote, pull_request_commands, pull_request_title


@pytest.mark.parametrize(
    ("names", "expected"),
    [([], None), (["origin"], "origin"), (["fork"], "fork"), (["fork", "origin"], "origin"), (["a", "b"], None)],
)
def test_the_remote_that_is_meant(tmp_path: Path, names: list[str], expected: str | None) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name in names:
        subprocess.run(["git", "-C", str(tmp_path), "remote", "add", name, "/nowhere"], check=True)
    assert find_remote(tmp_path, os.environ) == expected


def test_a_remote_whose_name_is_a_command_is_not_one(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with (tmp_path / ".git/config").open("a") as config:
        config.write('[remote "--exec=id;x"]\n\turl = /nowhere\n')
    assert find_remote(tmp_path, os.environ) is None


def test_no_repository_has_no_remote(tmp_path: Path) -> None:
    assert find_remote(tmp_path, os.environ) is None


def test_the_commands_to_copy() -> None:
    assert pull_request_commands("bridle/x", "my main", "origin", title="It's new") == (
        "git push -u origin bridle/x && gh pr create --head bridle/x --base 'my main' --title 'It'\"'\"'s new' --fill"
    )
    draft = pull_request_commands("bridle/x", None, "origin", title="New", is_draft=True)
    assert draft.endswith("--head bridle/x --title New --fill --draft")
    assert pull_request_commands("bridle/x", "main", None, title="New") == ""


def test_the_title_of_a_plan_is_one_line() -> None:
    assert pull_request_title({"title": "A\nnew\x1b[31m  shop"}) == "A new [31m shop"
    assert pull_request_title({}) == "Work of a run"
