"""A here-document is believed only where bash would end it at the same place."""

from __future__ import annotations

import subprocess

import pytest

from bridle.agent.permissions.bash.heredoc import EXPANDED, UNREADABLE, text_block
from bridle.agent.permissions.bash.parse import read_script


@pytest.mark.parametrize(
    "command",
    [
        "cat <<'E'\n$(x)\nE",
        'cat <<"E"\n`x`\nE\n',
        "cat <<E\nplain\nE",
        "cat <<-E\n\tplain\n\tE",
        "cat <<'E' | wc -l\na\nE",
        "cat <<'E'\nE",
        "cat <<'E'\nxE\nE",
    ],
)
def test_a_document_without_expansion_is_text(command: str) -> None:
    script = read_script(command, "")
    assert (script.doubts, script.is_broken) == ((), False)


@pytest.mark.parametrize("body", ["$(rm x)", "`rm x`", "a\\", "$X"])
def test_a_document_that_the_shell_expands_is_doubted(body: str) -> None:
    assert EXPANDED in read_script(f"cat <<E\n{body}\nE", "").doubts


@pytest.mark.parametrize(
    "command",
    [
        "cat <<'E'\nno end",
        "cat <<'E'\n E\nrm x\nE",
        "cat <<'E'\nE \nrm x\nE",
        "cat <<E$X\na\nE$X",
        "cat <<'E F'\na\nE F",
        "cat <<\\E\na\nE",
    ],
)
def test_a_document_whose_end_is_unclear_is_doubted(command: str) -> None:
    script = read_script(command, "")
    assert script.doubts
    assert script.is_broken or UNREADABLE in script.doubts or EXPANDED in script.doubts


@pytest.mark.parametrize(
    ("body", "text"), [("a\nb", "a\nb"), ("a (b) c\n\n", "a (b) c"), ("", ""), ("$(x) `y`", "$(x) `y`")]
)
def test_a_block_of_text_is_one_word_and_bash_reads_the_same(body: str, text: str) -> None:
    word = f"\"$(cat <<'E'\n{body}\nE\n)\""
    assert text_block(word) == text
    ran = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, text=True, check=True)
    assert ran.stdout == text


@pytest.mark.parametrize(
    "word",
    [
        '"$(cat <<E\na\nE\n)"',
        "\"$(cat <<'E'\na\n)\"",
        "\"$(cat <<'E'\na)\nE\n)\"",
        "\"$(cat <<'E'\na\nE\nrm x)\"",
        "\"$(cat <<'E'\na\nE\n)\" more",
        "\"$(cat x <<'E'\na\nE\n)\"",
        "plain",
    ],
)
def test_anything_else_is_no_block(word: str) -> None:
    assert text_block(word) is None
