"""Words for a shell: what comes out of the shell is what went in."""

from __future__ import annotations

import subprocess

from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.ground.light.shell_word import is_plain, shell_word

# Starting a shell takes longer than the whole of any other example.
EXAMPLES = 30
LIMIT_SECONDS = 60


@given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), min_size=1, max_size=20))
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_shell_reads_each_word_as_it_was(texts: list[str]) -> None:
    line = " ".join(shell_word(text) for text in texts)
    script = f"printf '%s\\0' {line}".encode()
    done = subprocess.run(["sh"], input=script, capture_output=True, check=True, timeout=LIMIT_SECONDS)
    assert done.stdout.decode().split("\0")[:-1] == texts


def test_quotes_and_what_a_shell_would_expand_are_only_letters() -> None:
    texts = ["it's", "''", '"', "$HOME", "`id`", "$(id)", "a\nb", "\\", "!", "*", "~", "", "'; id; '"]
    script = "printf '%s\\0' " + " ".join(shell_word(text) for text in texts)
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=True, timeout=LIMIT_SECONDS)
    assert done.stdout.decode().split("\0")[:-1] == texts


def test_plain_words_stay_as_they_are() -> None:
    assert [shell_word(text) for text in ("a", "/a/b-c_d.e", "x=1")] == ["a", "/a/b-c_d.e", "x=1"]
    assert [text for text in ("", " ", "a b", "$a", "~", "é") if is_plain(text)] == []
