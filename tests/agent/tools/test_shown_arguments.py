"""What hooks and hosts see of a call: the absolute path of its file; the tool gets what the model sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.agent.permissions.rules.policy import Policy
from bridle.agent.tools.shown_arguments import as_sent, show_arguments

POLICY = Policy(cwd="/project", home="/home/user")


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("a.txt", "/project/a.txt"),
        ("./sub/../a.txt", "/project/a.txt"),
        ("../a.txt", "/a.txt"),
        ("~/a.txt", "/home/user/a.txt"),
        ("~other/a.txt", "/project/~other/a.txt"),
        ("/etc/passwd", "/etc/passwd"),
        ("", ""),
        ("a\0b", "a\0b"),
    ],
)
@pytest.mark.parametrize("tool", ["Read", "Write", "Edit"])
def test_the_path_is_absolute(tool: str, sent: str, shown: str) -> None:
    assert show_arguments(tool, {"file_path": sent, "more": 1}, POLICY) == {"file_path": shown, "more": 1}


def test_a_relative_path_begins_in_the_folder_of_the_shell() -> None:
    policy = Policy(cwd="/project", home="/home/user", shell_folder="/project/sub")
    assert show_arguments("Read", {"file_path": "a"}, policy) == {"file_path": "/project/sub/a"}


def test_dots_after_a_link_are_not_taken_for_its_folder(tmp_path: Path) -> None:
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")
    shown = show_arguments("Write", {"file_path": "link/../a"}, Policy(cwd=str(tmp_path), home="/"))
    assert Path(shown["file_path"]).resolve() == (tmp_path / "far" / "a").resolve()


@pytest.mark.parametrize("arguments", [{"file_path": 3}, {"command": "ls"}, {}])
def test_other_arguments_are_shown_as_they_are(arguments: dict[str, object]) -> None:
    assert show_arguments("Write", arguments, POLICY) is arguments
    assert show_arguments("Bash", {"file_path": "a"}, POLICY) == {"file_path": "a"}


def test_the_path_of_the_model_comes_back_unless_another_was_answered() -> None:
    sent = {"file_path": "a", "content": "x"}
    shown = show_arguments("Write", sent, POLICY)
    assert as_sent(sent, shown, {**shown, "content": "y"}) == {"file_path": "a", "content": "y"}
    other = {"file_path": "/project/b", "content": "x"}
    assert as_sent(sent, shown, other) == other
    assert as_sent(sent, shown, None) is None
    assert as_sent({"command": "ls"}, {"command": "ls"}, {"command": "pwd"}) == {"command": "pwd"}
