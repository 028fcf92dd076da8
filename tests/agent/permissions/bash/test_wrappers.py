"""A wrapper is unwrapped only where its options are known, and for denying every word of it counts."""

from __future__ import annotations

import pytest

from bridle.agent.permissions.bash.words import Word, plain, read_word
from bridle.agent.permissions.bash.wrappers import (
    basename,
    carries,
    differs,
    is_carrier,
    named_code,
    reads_code,
    unwrap,
)

UNKNOWN = Word("$X", None)


def words(text: str) -> tuple[Word, ...]:
    return tuple(UNKNOWN if part == "$X" else read_word(part, "") for part in text.split(" "))


@pytest.mark.parametrize(
    ("command", "inside"),
    [
        ("nohup ls -l", "ls -l"),
        ("command ls", "ls"),
        ("builtin echo", "echo"),
        ("time -p ls", "ls"),
        ("nice ls", "ls"),
        ("nice -n 5 ls", "ls"),
        ("nice -5 ls", "ls"),
        ("nice --adjustment=-3 ls", "ls"),
        ("timeout 5 ls", "ls"),
        ("timeout -k 1 -s KILL 2.5m ls", "ls"),
        ("timeout --signal=KILL --foreground 5 ls", "ls"),
        ("stdbuf -oL -e0 ls", "ls"),
        ("env ls", "ls"),
    ],
)
def test_a_wrapper_that_changes_nothing_is_unwrapped(command: str, inside: str) -> None:
    unwrapped = unwrap(words(command))
    assert unwrapped is not None
    assert (" ".join(word.value or "" for word in unwrapped.words), unwrapped.code) == (inside, None)


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "$X ls",
        "nohup",
        "nohup $X",
        "nohup l*",
        "command -v ls",
        "nice -n x ls",
        "nice -n 5",
        "timeout ls",
        "timeout --foo 5 ls",
        "timeout -k $X 5 ls",
        "timeout $X ls",
        "timeout 5",
        "timeout -s",
        "stdbuf -oX ls",
        "env -i ls",
        "env -S ls",
        "env A=1 -u B ls",
        "env A=1",
        "env $X ls",
        "sh x.sh",
        "sh -c $X",
        "sh -l -c ls",
        "sh -o posix -c ls",
        "bash -e",
        "zsh -c ls",
        "sudo ls",
        "/bin/nohup ls",
    ],
)
def test_a_wrapper_with_anything_unknown_is_not_unwrapped(command: str) -> None:
    assert unwrap(words(command)) is None


def test_no_words_are_not_a_wrapper() -> None:
    assert unwrap(()) is None
    assert not reads_code(())


def test_variables_of_env_are_kept_and_code_of_a_shell_is_found() -> None:
    inside = unwrap(words("env PATH=. LANG=C ls"))
    assert inside is not None
    assert [(name, word and word.value) for name, word in inside.assignments] == [("PATH", "."), ("LANG", "C")]
    for options in ("-c", "-ec", "-e -u -c", "-o pipefail -c"):
        shell = unwrap((*words(f"bash {options}"), plain("rm x")))
        assert shell is not None
        assert shell.code == "rm x"


@pytest.mark.parametrize(
    ("program", "is_one"), [("/usr/bin/SUDO", True), ("xargs", True), ("bash", True), ("ls", False), ("suds", False)]
)
def test_a_program_that_runs_others_is_known_by_its_name(program: str, is_one: bool) -> None:
    assert is_carrier(program) is is_one


def test_the_name_of_a_program_has_no_folder_and_no_case() -> None:
    assert [basename(name) for name in ("/bin/RM", "rm", "./a/b/", "/")] == ["rm", "rm", "b", ""]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("xargs -I{} 'a;b'", ["a;b"]),
        ("tmux --run=rm", ["rm"]),
        ("ssh host rm x", ["host rm x"]),
        ("/usr/bin/watch ls -l", ["ls -l"]),
        ("sudo ls", []),
    ],
)
def test_words_that_may_be_code_are_yielded(command: str, code: list[str]) -> None:
    assert list(carries(words(command))) == code


def test_an_index_of_a_variable_may_have_a_command_in_it() -> None:
    assert list(named_code((plain("test"), plain("-v"), plain("a[$(rm x)]"), plain("a[1]")))) == ["a[$(rm x)]"]


@pytest.mark.parametrize(
    ("command", "reads"),
    [
        ("sh", True),
        ("bash -e", True),
        ("bash -s x", True),
        ("/bin/zsh", True),
        ("bash $X", True),
        ("bash -c ls", False),
        ("bash script.sh", False),
        ("bash -ec ls", False),
        ("python3", False),
        ("$X", False),
    ],
)
def test_a_shell_without_code_reads_it_from_its_input(command: str, reads: bool) -> None:
    assert reads_code(words(command)) is reads


@pytest.mark.parametrize("code", ["[[ -f x ]]", "a 10> b", "a &> b", "a+=b"])
def test_other_shells_read_some_code_in_another_way(code: str) -> None:
    assert differs("sh", code)
    assert differs(None, code)
    assert not differs("bash", code)
    assert not differs("sh", "ls | wc -l")
