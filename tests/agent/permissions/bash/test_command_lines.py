"""Every command line that could run is among those that deny rules are compared with."""

from __future__ import annotations

import pytest

from bridle.agent.permissions.bash.command_lines import ANYTHING, LIMIT_STARTS, LIMIT_TEXTS, command_lines
from bridle.agent.permissions.bash.parse import read_script


def lines(command: str) -> tuple[set[str], bool]:
    """Return the command lines, and whether any command is possible."""
    listed = list(command_lines(read_script(command, "/home/x"), command, "/home/x"))
    known = {" ".join(word.value or "?" for word in words) for words in listed if words != (ANYTHING,)}
    return known, (ANYTHING,) in listed


@pytest.mark.parametrize(
    "command",
    [
        "rm x",
        "ls && rm x",
        "ls; (rm x)",
        "/bin/rm x",
        "RM x",
        "A=1 rm x",
        "sudo -u y rm x",
        "env A=1 nice rm x",
        "xargs rm x",
        "sh -c 'rm x'",
        "bash -c \"sh -c 'rm x'\"",
        "ssh host rm x",
        "find . -exec rm x ';'",
        "eval rm x",
        "trap 'rm x' EXIT",
        "git -c alias.y='!rm x' y",
        "git rebase -x 'rm x'",
        "sudo git rebase --exec='rm x'",
        "test -v 'a[$(rm x)]'",
        "echo $(rm x)",
        "if true; then rm x; fi",
        "alias y='rm x'",
    ],
)
def test_a_hidden_command_is_found(command: str) -> None:
    assert any(line.lower().startswith("rm x") for line in lines(command)[0])


@pytest.mark.parametrize("command", ["$X y", "sh", "bash $X", "sudo $X", "sh -c '[[ x ]] && y'", "r* x", "echo 'x"])
def test_a_command_that_cannot_be_known_could_be_anything(command: str) -> None:
    assert lines(command)[1]


@pytest.mark.parametrize("command", ["ls -l", "git log", "cat rm", "echo 'rm x'", "sudo ls"])
def test_a_plain_command_is_only_itself(command: str) -> None:
    known, could_be_anything = lines(command)
    assert not could_be_anything
    assert "rm x" not in known


def test_variables_before_a_command_are_a_shape_of_their_own() -> None:
    assert lines("A=1 ls")[0] == {"A=1 ls", "ls"}


def test_global_options_of_git_are_left_out_too() -> None:
    assert lines("/usr/bin/git -C x push -f")[0] >= {"git push -f", "git -C x push -f"}


def test_beyond_the_limits_it_could_be_anything() -> None:
    assert not lines("xargs " + "a " * (LIMIT_STARTS - 2))[1]
    assert lines("xargs " + "a " * (LIMIT_STARTS + 1))[1]
    assert lines("xargs " + " ".join(f"'a b{number}'" for number in range(LIMIT_TEXTS + 1)))[1]
