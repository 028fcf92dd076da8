"""The pattern of a rule is compared with the words of a command, known or not."""

from __future__ import annotations

import pytest

from bridle.agent.permissions.bash.rule_patterns import compile_rule, could_match, matches
from bridle.agent.permissions.bash.words import Word, plain
from bridle.agent.permissions.rules.syntax import Rule

UNKNOWN = Word("$x", None)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("git *", [["git"], ["git", "log"], ["git", "a b", ""]], [["gitk"], ["git log"], ["a", "git"]]),
        ("git:*", [["git"], ["git", "log"]], [["gitk"]]),
        ("git log:*", [["git", "log"], ["git", "log", "-p"]], [["git"], ["git", "logs"]]),
        ("npm run test", [["npm", "run", "test"]], [["npm", "run", "test", "x"], ["npm", "run"]]),
        ("npm run test:*", [["npm", "run", "test"], ["npm", "run", "test", "x"]], [["npm", "run", "test:x"]]),
        ("npm run test*", [["npm", "run", "test"], ["npm", "run", "test:x"]], [["npm", "run", "tes"]]),
        ("git * main", [["git", "push", "main"], ["git", "a", "b", "main"]], [["git", "main"], ["git", "push", "x"]]),
        ("git commit -m 'a b'", [["git", "commit", "-m", "a b"]], [["git", "commit", "-m", "a", "b"]]),
        ("echo \\*", [["echo", "*"]], [["echo", "x"]]),
        ("rm build/*", [["rm", "build/x"], ["rm", "build/x/y"]], [["rm", "build/../x"], ["rm", "x"]]),
        ("a.b", [["a.b"]], [["axb"]]),
    ],
)
def test_a_pattern_is_compared_with_a_command_word_by_word(
    pattern: str, matching: list[list[str]], others: list[list[str]]
) -> None:
    compiled = compile_rule(Rule("Bash", pattern))

    def does_match(words: list[str]) -> bool:
        return matches(compiled, [plain(word) for word in words])

    assert [words for words in matching if not does_match(words)] == []
    assert [words for words in others if does_match(words)] == []


def test_an_unknown_word_matches_no_pattern_but_could_match_many() -> None:
    pattern = compile_rule(Rule("Bash", "git push *"))

    def could(*words: Word) -> bool:
        return could_match(pattern, words)

    git, push, log = plain("git"), plain("push"), plain("log")
    assert not matches(pattern, [git, UNKNOWN])
    assert could(UNKNOWN)
    assert could(git, UNKNOWN)
    assert could(git, push, UNKNOWN)
    assert could(git, Word("p*", "p*", 1))
    assert not could(git, log, UNKNOWN)
    assert not could(plain("echo"), UNKNOWN)
    assert could(UNKNOWN, push)


def test_an_unknown_word_may_stand_for_several_words() -> None:
    assert could_match(compile_rule(Rule("Bash", "a b c")), [plain("a"), UNKNOWN])
    assert not could_match(compile_rule(Rule("Bash", "a b c")), [plain("a"), UNKNOWN, plain("d")])


def test_a_very_long_command_with_unknown_words_could_match() -> None:
    pattern = compile_rule(Rule("Bash", "git push *"))
    assert could_match(pattern, [plain("echo"), plain("x" * 3000), UNKNOWN])


def test_a_star_of_the_command_is_not_one_of_the_pattern() -> None:
    pattern = compile_rule(Rule("Bash", "echo a"))
    assert not could_match(pattern, [plain("echo"), plain("*"), UNKNOWN])
    assert not matches(pattern, [plain("echo"), plain("*")])
    assert not matches(pattern, [])
