"""The node kinds of tree-sitter's bash grammar, and functions to walk its trees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node, Parser  # for annotations only; the library is loaded with the first command

# Statements that consist of their child statements.
_COMPOUND_KINDS: Final = """
program list pipeline subshell compound_statement if_statement elif_clause else_clause while_statement do_group
negated_command
"""
COMPOUND: Final = frozenset(_COMPOUND_KINDS.split())
_SIGNS: Final = "&& || | |& ; ;; ( ) { } ! if then elif else fi while until do done for in case esac"
TOKENS: Final = frozenset({"\n", *_SIGNS.split()})
_WORD_KINDS: Final = """
word string raw_string concatenation number simple_expansion expansion command_substitution process_substitution
arithmetic_expansion ansi_c_string translated_string brace_expression $ test_operator extglob_pattern regex
variable_name special_variable_name array subscript
"""
WORDS: Final = frozenset(_WORD_KINDS.split())
REDIRECTS: Final = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
# Keywords of bash; if the tree has one as a program's name, it misread the command.
_KEYWORD_NAMES: Final = "if then elif else fi while until do done for in case esac select function { } ! [[ ]]"
KEYWORDS: Final = frozenset(_KEYWORD_NAMES.split())
STATEMENTS: Final = frozenset(
    {"command", "redirected_statement", "declaration_command", "function_definition", "test_command"}
)
_ATOMS: Final = frozenset(
    {"string", "raw_string", "ansi_c_string", "comment", "heredoc_body", "heredoc_start", "regex"}
)

# `${name}` with a default or a prefix or suffix removed: no index, offset, transformation or assignment.
_PLAIN_EXPANSION = re.compile(rb"\$\{#?\w+(?:(?::?[-+?]|##?|%%?)[^\[\]@]*)?\}\Z", re.DOTALL)
# A file descriptor number, or `{name}`, before a redirection. One longer than the bytes examined counts too.
_LOOK_BACK_BYTES: Final = 64
_NUMBER = re.compile(rb"(?:(?:^|[\s;&|()<>])(?:[0-9]+|\{[^\s;{}]+\})|^[^\s;{}]+\})\Z")
# An expansion to a number that depends on nothing.
ARITHMETIC = re.compile(r"\$\(\([0-9+*/% ()-]*\)\)\Z")


@lru_cache(maxsize=1)
def parser() -> Parser:
    """Return the bash parser. Loading it takes time, and commands of plain words do not need it."""
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def is_shallow(root: Node, depth: int) -> bool:
    """Return whether a tree has at most this many levels below its root."""
    level = [root]
    for _ in range(depth):
        level = [child for node in level for child in node.children]
        if not level:
            return True
    return False


def leaves(node: Node) -> Iterator[Node]:
    """Yield every token below a node in order; quoted strings and text are single tokens."""
    stack = [node]
    while stack:
        current = stack.pop()
        if current.child_count == 0 or current.type in _ATOMS:
            if current.end_byte > current.start_byte:
                yield current
        else:
            stack += reversed(current.children)


def has_space(gap: str, before: bytes) -> bool:
    """Return whether a line continuation has white space beside it, so that no word spans it."""
    return bool(gap.replace("\\\n", "")) or before in (b"", b"\n")


def could_start_comment(data: bytes, place: int) -> bool:
    """Return whether bash takes a `#` at this place for a comment: where a word could start."""
    return data[max(0, place - 1) : place] in b" \t\n;&|()"


def is_separate_word(data: bytes, start: int, end: int) -> bool:
    """Return whether bash takes a keyword at this place for a separate word."""
    return data[max(0, start - 1) : start] in b" \t\n;&|()" and data[end : end + 1] in b" \t\n;&|()<>"


def follows_number(data: bytes, place: int) -> bool:
    """Return whether a file descriptor number or `{name}` precedes a redirection at this place."""
    return _NUMBER.search(data[max(0, place - _LOOK_BACK_BYTES) : place]) is not None


def words_of_test(node: Node) -> Iterator[Node]:
    """Yield the words of `[ … ]`, which the grammar parses as an expression."""
    for child in node.children:
        if child.child_count and child.type not in WORDS:
            yield from words_of_test(child)
        else:
            yield child


def runs_something(node: Node) -> bool:
    """Return whether a node contains a command."""
    return any(below.type in ("command_substitution", "process_substitution", "ERROR") for below in _all(node))


def evaluates(node: Node) -> bool:
    """Return whether a node evaluates the value of a variable as code: an index, a number, a prompt."""
    for below in _all(node):
        text = below.text or b""
        if below.type in ("arithmetic_expansion", "subscript", "array") and not ARITHMETIC.match(text.decode()):
            return True
        if below.type == "expansion" and not _PLAIN_EXPANSION.match(text.strip()):
            return True
    return False


def _all(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack += current.children


def expansion(node: Node) -> str | None:
    """Return Claude Code's text for the first expansion in a node."""
    for child in node.children:
        if child.type in ("simple_expansion", "expansion", "command_substitution", "process_substitution"):
            return f"Contains {child.type}"
        below = expansion(child)
        if below:
            return below
    return None
