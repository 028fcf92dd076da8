"""How rules are written, and which tools and commands they mean."""

from __future__ import annotations

import pytest

from bridle.agent.permissions.bash.rule_patterns import compile_rule, could_match, matches
from bridle.agent.permissions.bash.words import Word, plain
from bridle.agent.permissions.rules.syntax import RULE_LIMIT_CHARACTERS, Rule, names_tool, parse_rule, split_list

UNKNOWN = Word("$x", None)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Bash", Rule("Bash", None)),
        (" Bash ", Rule("Bash", None)),
        ("Bash(git *)", Rule("Bash", "git *")),
        ("Bash(git:*)", Rule("Bash", "git:*")),
        ("Bash(*)", Rule("Bash", None)),
        ("Bash()", Rule("Bash", None)),
        ("Bash(echo (a) b)", Rule("Bash", "echo (a) b")),
        ("Read(//etc/**)", Rule("Read", "//etc/**")),
        ("WebFetch(domain:x.org)", Rule("WebFetch", "domain:x.org")),
        ("mcp__a__*", Rule("mcp__a__*", None)),
        ("Task(Explore)", Rule("Agent", "Explore")),
        ("BashOutput", Rule("TaskOutput", None)),
        ("KillShell", Rule("TaskStop", None)),
        ("*", Rule("*", None)),
    ],
)
def test_a_rule_is_a_tool_and_what_of_it_is_meant(text: str, rule: Rule) -> None:
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    "text", ["", "(", "Bash(", "Bash)", "(x)", "a b", "Bash(x", "Bash(x) y", "a\0b", "A" * (RULE_LIMIT_CHARACTERS + 1)]
)
def test_what_is_no_rule_is_none(text: str) -> None:
    assert parse_rule(text) is None


@pytest.mark.parametrize(
    ("values", "items"),
    [
        (["A,B"], ["A", "B"]),
        (["A B"], ["A", "B"]),
        (["A", "B"], ["A", "B"]),
        (["A, B,,C "], ["A", "B", "C"]),
        (["Bash(git *) Edit"], ["Bash(git *)", "Edit"]),
        (["Bash(a, b),Bash(c (d, e) f)"], ["Bash(a, b)", "Bash(c (d, e) f)"]),
        (["Bash(a b"], ["Bash(a b"]),
        (["a) b"], ["a)", "b"]),
        ([""], []),
    ],
)
def test_lists_are_split_at_commas_and_spaces_outside_parentheses(values: list[str], items: list[str]) -> None:
    assert split_list(values) == items


@pytest.mark.parametrize(
    ("rule", "tools", "others"),
    [
        ("Read", ["Read"], ["ReadX", "Write"]),
        ("mcp__a", ["mcp__a__x", "mcp__a__y__z"], ["mcp__ab__x", "mcp__b__a"]),
        ("mcp__a__x", ["mcp__a__x"], ["mcp__a__xy"]),
        ("mcp__a__*", ["mcp__a__x"], ["mcp__b__x"]),
        ("*", ["Read", "mcp__a__x"], []),
    ],
)
def test_a_rule_names_tools(rule: str, tools: list[str], others: list[str]) -> None:
    parsed = parse_rule(rule)
    assert parsed is not None
    assert [tool for tool in (*tools, *others) if names_tool(parsed, tool)] == tools


@pytest.mark.parametrize(
    ("pattern", "meant", "not_meant"),
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
def test_a_pattern_means_commands_word_by_word(
    pattern: str, meant: list[list[str]], not_meant: list[list[str]]
) -> None:
    compiled = compile_rule(Rule("Bash", pattern))

    def fits(words: list[str]) -> bool:
        return matches(compiled, [plain(word) for word in words])

    assert [words for words in meant if not fits(words)] == []
    assert [words for words in not_meant if fits(words)] == []


def test_what_is_not_known_fits_no_pattern_but_could_fit_many() -> None:
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
    assert not could(UNKNOWN, Word("x", "x"), plain("y z"), log) or could(UNKNOWN)


def test_an_unknown_word_means_several_words_too() -> None:
    assert could_match(compile_rule(Rule("Bash", "a b c")), [plain("a"), UNKNOWN])
    assert not could_match(compile_rule(Rule("Bash", "a b c")), [plain("a"), UNKNOWN, plain("d")])
