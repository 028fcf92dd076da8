"""How a command is read: what it runs, what each word stands for, and what is in doubt."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bridle.agent.permissions.bash.parse import CONTROL, LIMIT_CHARACTERS, TOO_LONG, read_script
from bridle.agent.permissions.bash.parsed_command import Script
from bridle.agent.permissions.bash.syntax_tree import LIMIT_DEPTH, TOO_DEEP
from bridle.agent.permissions.bash.words import Word, read_word

HOME = "/home/me"


def argv(script: Script) -> list[list[str | None]]:
    return [[word.value for word in command.words] for command in script.commands]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("ls -la src", [["ls", "-la", "src"]]),
        ("a && b || c; d | e\nf", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("git commit -m 'a b' \"c d\" e\\ f", [["git", "commit", "-m", "a b", "c d", "e f"]]),
        ("(a; b) && { c; }", [["a"], ["b"], ["c"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("while a; do b; done; until c; do d; done", [["a"], ["b"], ["c"], ["d"]]),
        ("for x in 1 2; do a; done", [["a"]]),
        ("case x in y) a;; *) b;; esac", [["a"], ["b"]]),
        ("f() { a; }; function g { b; }", [["a"], ["b"]]),
        ("! a", [["a"]]),
        ("> x a b > y c", [["a", "b", "c"]]),
        ("a <<< x b", [["a", "b"]]),
        ("a >&- b 2>&-c", [["a", "b", "c"]]),
        ("a >&- 2>&1", [["a"]]),
        ("a <<'E' | c\nx\nE\nd", [["c"], ["a"], ["d"]]),
        ("a <<'E' b\nx\nE\nd", [["a", "b"], ["d"]]),
        ("a - <<'E'\nx - y\nE", [["a", "-"]]),
        ("cat > f <<'E'\nx\nE\n", [["cat"]]),
        ("cat <<'E' > f && b\nx\nE", [["b"], ["cat"]]),
        ("[ -f x ]", [["[", "-f", "x", "]"]]),
        ("export A=1", [["export", "A=1"]]),
        ("a $(b) `c` <(d)", [["b"], ["c"], ["d"], ["a", None, None, None]]),
        ('a "x $(b) y"', [["b"], ["a", None]]),
        ("x=$(a)", [["a"], []]),
        ("echo a # b; c", [["echo", "a"]]),
        ("a\\\n b", [["a", "b"]]),
        ("", []),
        ("é 'ü' \"🐎\" | 日本", [["é", "ü", "🐎"], ["日本"]]),
        ("é=1 a", [["é=1", "a"]]),
        ("a <<'E'\n🐎 é\nE\nb", [["a"], ["b"]]),
    ],
)
def test_every_simple_command_is_found(text: str, commands: list[list[str | None]]) -> None:
    assert argv(read_script(text, HOME)) == commands


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("a $x", "Contains simple_expansion"),
        ('a "$x"', "Contains simple_expansion"),
        ("a ${x}", "Contains expansion"),
        ("a $(b)", "Contains command_substitution"),
        ("a `b`", "Contains command_substitution"),
        ('a "$(b)"', "Contains shell syntax (string) that cannot be statically analyzed"),
        ("a <(b)", "Contains process_substitution"),
        ("a $'b'", "Contains ansi_c_string"),
        ("a {b,c}", "Brace expansion"),
        ("a {1..3}", "Brace expansion"),
        ("a ~you", "Contains a tilde that cannot be followed"),
        ("cat <<E\n$x\nE", "Heredoc with unquoted delimiter undergoes shell expansion"),
        ("a 'b", "Parse error"),
        ("a &&", "Parse error"),
        ("select x in a; do b; done", "Contains select"),
        ("((x = 1))", "Contains compound_statement"),
    ],
)
def test_what_is_not_known_before_it_runs_is_a_doubt_with_its_name(text: str, doubt: str) -> None:
    assert doubt in read_script(text, HOME).doubts


@pytest.mark.parametrize(
    "text",
    [
        "a 'b'",
        'a "b"',
        "a \\$x",
        "a '$x'",
        "a $",
        "a $ b",
        "a x$",
        "a {}",
        "a x@{1}",
        "a *.c",
        "a ~",
        "a ~/x",
        "a $HOME",
        "a=1 b",
        "a 1>&2",
        "cat <<'E'\n$x\nE",
        "cat <<E\nx\nE",
        "cat <<'E'\n\n  x\n\nE",
        "a $((1 + 2))",
        "a 2>/dev/null",
        "[[ -f x ]]",
        "a; # b",
        "a \\\n  b",
        "a x#y",
    ],
)
def test_what_is_known_is_no_doubt(text: str) -> None:
    assert read_script(text, HOME).doubts == ()


@pytest.mark.parametrize(
    "text",
    [
        "e\\\nvil",
        "a &\\\n& b",
        "cat <<E'F'\nx\nEF\nb",
        "cat <<A <<B\nA\nB",
        "cat <<E\nE \nE",
        "cat <<E\n E\nE",
        "<<<$ r\\m",
        'a "$(e\\\nvil)"',
        'a $"b"',
        "a 'b",
        "{a,b}",
        "a\rb",
        "echo $((x))",
        "echo ${x@P}",
        "echo ${a[x]}",
        "[[ 1 -eq x ]]",
        "a[x]=1",
        "for ((;;)); do a; done",
        "for PATH in x; do a; done",
        "case ${x:=y} in a) b;; esac",
        "cat() { a; }",
        "{ a; }#; b",
        "[[ a ]]#; b",
        "[[-f > a ]]",
        "[[ -f a]]",
        "{a\nb; }",
        "if a; then{ b; }; fi",
        "function f{ a; }",
        "a {b}>c",
        "a {b}<<<c",
        f"a {{{'b' * 100}}}>c",
        "a 0>&2 b",
        "a >& -b",
    ],
)
def test_what_may_hide_a_command_is_reported_as_broken(text: str) -> None:
    assert read_script(text, HOME).is_broken


def test_a_redirection_has_its_file_and_its_direction() -> None:
    script = read_script("a > x 2>> y < z &> v 2>&1 >&- >& w", HOME)
    found = [(redirect.is_read, redirect.target.value) for redirect in script.commands[0].redirects]
    assert found == [(False, "x"), (False, "y"), (True, "z"), (False, "v"), (False, "w")]


def test_a_group_has_redirections_of_its_own() -> None:
    script = read_script("(a) > x", HOME)
    assert [(len(command.words), len(command.redirects)) for command in script.commands] == [(0, 1), (1, 0)]


def test_assignments_stand_apart_from_words() -> None:
    command = read_script("A=1 B='x y' c d=e", HOME).commands[0]
    assert [(name, word.value if word else None) for name, word in command.assignments] == [("A", "1"), ("B", "x y")]
    assert [word.value for word in command.words] == ["c", "d=e"]


def test_text_of_several_lines_is_one_known_word_and_the_program_that_gives_it_is_reported() -> None:
    script = read_script("git commit -m \"$(cat <<'EOF'\none $x `y`\n\ntwo\nEOF\n)\"", HOME)
    assert argv(script) == [["cat"], ["git", "commit", "-m", "one $x `y`\n\ntwo"]]
    assert script.doubts == ()


def test_a_here_document_ends_where_bash_ends_it_also_with_letters_beyond_ascii() -> None:
    assert not read_script("a <<'é'\nx\né\nb", HOME).is_broken
    assert read_script("a <<'é'\nü\necho '\né\nrm x\n'", HOME).is_broken


@pytest.mark.parametrize(
    "text",
    ["cat <<'é'\n日本\né\n", "cat <<'终'\n😀 hi\n终\n", "cat <<'ENDÉ'\nEND日本\nENDÉ\n", "cat <<'..'\n日\n..\nrm x\n"],
)
def test_a_here_document_whose_end_the_grammar_sees_within_a_letter_is_broken(text: str) -> None:
    assert read_script(text, HOME).is_broken


@pytest.mark.parametrize(
    "text",
    [
        *("sort a -oevil2>/dev/null", "sort a -oevil2>&1", "sort a -o2>>f", "sort a -o2</dev/null", "ls | sort -o1>f"),
        *("find . -fls2>/dev/null", "-rm2>f", "tree -oevil1>/dev/null"),
    ],
)
def test_a_word_that_ends_in_a_digit_before_a_redirection_is_not_lost(text: str) -> None:
    """Bash takes it for a word, the grammar for the number of a file."""
    script = read_script(text, HOME)
    words = [word.text for command in script.commands for word in command.words]
    lost = text.partition(">")[0].partition("<")[0].split()[-1]
    assert script.is_broken or lost in words


def test_the_number_of_a_file_before_a_redirection_is_no_word() -> None:
    script = read_script("a 2>&1 10>f", HOME)
    assert (argv(script), script.is_broken) == ([["a"]], False)


def test_no_letter_kills_the_process() -> None:
    """The grammar's table is followed by whatever this process has there: each has its own chance to die."""
    code = """
from bridle.agent.permissions.bash.parse import read_script
for letter in map(chr, (0x1F40E, 0x2C7A6, 0x5EF8C, 0x9904A, 0xFFFFF, 0x10FFFF)):
    for text in ("${%s", "[/%s{%s^${", 'let&%s=~%s>&%s=|<<"E F"b%s'):
        read_script(text.replace("%s", letter), "/home/me")
"""
    for _ in range(8):
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_command_in_the_background_is_reported() -> None:
    assert read_script("a & b", HOME).runs_in_background
    assert read_script("(a &)", HOME).runs_in_background
    assert not read_script("a && b 2>&1", HOME).runs_in_background


def test_only_a_function_that_is_there_for_certain_is_reported() -> None:
    assert [name for name, _ in read_script("f() { a; }; f", HOME).functions] == ["f"]
    assert read_script("(f() { a; }); f", HOME).functions == ()
    assert read_script("b && f() { a; }; f", HOME).functions == ()
    assert read_script("./f*() { a; }; ./f*", HOME).functions == ()


def test_a_command_that_is_too_long_too_deep_or_not_text_is_not_read() -> None:
    assert read_script("a" * (LIMIT_CHARACTERS + 1), HOME) == Script((), (TOO_LONG,), is_broken=True)
    assert TOO_DEEP in read_script("(" * LIMIT_DEPTH + "a" + ")" * LIMIT_DEPTH, HOME).doubts
    for letter in "\0\r\x07\x1b\u00a0\u2028\udc80":
        assert read_script(f"a{letter}b", HOME) == Script((), (CONTROL,), is_broken=True)


@pytest.mark.parametrize(
    ("text", "value", "glob_at"),
    [
        ("abc", "abc", -1),
        ("a'b c'\"d\"\\e", "ab cde", -1),
        ('"a\\$b\\c\\"d\\\\"', 'a$b\\c"d\\', -1),
        ("~/x", "/home/me/x", -1),
        ("'~/x'", "~/x", -1),
        ("a~", "a~", -1),
        ("$HOME/x", "/home/me/x", -1),
        ('"$HOME"', "/home/me", -1),
        ("a*b", "a*b", 1),
        ("'a*'b*", "a*b*", 3),
        ("'a*'", "a*", -1),
        ("[", "[", -1),
        ("a[bc]", "a[bc]", 1),
        ("a{b}", "a{b}", -1),
        ("a,b", "a,b", -1),
        ("$", "$", -1),
        ("a=b", "a=b", -1),
    ],
)
def test_a_word_means_what_bash_makes_of_it(text: str, value: str, glob_at: int) -> None:
    assert read_word(text, HOME) == Word(text, value, glob_at)


@pytest.mark.parametrize(
    "text", ["$HOMELAND", "$x", "${HOME}", "~you", "$(a)", "`a`", "$'a'", '$"a"', "{a,b}", '"$x"', "$((1))"]
)
def test_a_word_that_depends_on_the_run_has_no_value(text: str) -> None:
    word = read_word(text, HOME)
    assert word.value is None
    assert not word.is_broken


@pytest.mark.parametrize("text", ["a b", "a;b", "'a", '"a', "a\\", "a\\\nb", "$x b", "$'a", "#a", "", "a(b"])
def test_a_text_that_is_not_one_word_is_broken(text: str) -> None:
    assert read_word(text, HOME).is_broken


def test_a_home_with_a_space_is_not_put_where_it_would_become_two_words() -> None:
    assert read_word("$HOME", "/home/my self").value is None
    assert read_word('"$HOME"', "/home/my self").value == "/home/my self"
