"""The files that a plain command changes are known; any other use of it is not."""

from __future__ import annotations

import pytest

from bridle.agent.permissions.bash.changed_files import files_changed
from bridle.agent.permissions.bash.words import Word, read_word

UNKNOWN = Word("$X", None)


def words(text: str) -> list[Word]:
    return [UNKNOWN if part == "$X" else read_word(part, "") for part in text.split(" ")]


@pytest.mark.parametrize(
    ("command", "reads", "writes", "removes"),
    [
        ("touch a b", [], ["a", "b"], []),
        ("touch -r other a", ["other"], ["a"], []),
        ("mkdir -p a/b", [], ["a/b"], []),
        ("rm -rf a -- -b", [], [], ["a", "-b"]),
        ("rmdir a", [], [], ["a"]),
        ("cp a b/c d", ["a", "b/c"], ["d", "d/a", "d/c"], []),
        ("mv a/ d", [], ["d", "d/a"], ["a/"]),
        ("sed -n 1,5p a", ["a"], [], []),
        ("sed s/a/b/g a b", ["a", "b"], [], []),
        ("sed -i s/a/b/ a", [], ["a"], []),
        ("sed -i.bak -e s,a,b,g -e 3p a", [], ["a"], []),
    ],
)
def test_the_files_of_a_plain_command_are_known(
    command: str, reads: list[str], writes: list[str], removes: list[str]
) -> None:
    touches = files_changed([word for word in words(command) if word.text])
    assert touches is not None
    assert touches.objection is None
    listed = [[word.value for word in group] for group in (touches.reads, touches.writes, touches.removes)]
    assert listed == [reads, writes, removes]


@pytest.mark.parametrize(
    "command",
    [
        "$X a",
        "t* a",
        "ls a",
        "touch",
        "cp a",
        "cp $X b",
        "cp a $X",
        "cp a* b",
        "mv a b*",
        "sed s/a/b/",
        "sed s/a/b/e a",
        "sed s/a/b/w/x a",
        "sed -i 1e a",
        "sed -i -es/a/b/ a",
        "sed -i --expression=1p a",
        "sed -f script a",
        "sed $X a",
        "sed 1~2p a",
    ],
)
def test_another_use_is_not_known(command: str) -> None:
    touches = files_changed(words(command))
    assert touches is None or touches.objection is not None


def test_an_unknown_option_is_objected_to() -> None:
    touches = files_changed(words("cp -t d a"))
    assert touches is not None
    assert touches.objection == "cp command with flags requires manual approval"
