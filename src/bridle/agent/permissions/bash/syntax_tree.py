"""Reads the commands of a shell script from its syntax tree.

The structure comes from tree-sitter's bash grammar, which is not bash itself. So everything is verified: words are read
again from their own text, and only white space may be between them. A failed check or an unlisted node kind is a doubt,
and no pattern allows a command with doubts. The commands that were found are still returned, so that deny rules
apply to them.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from bridle.agent.permissions.bash.grammar import (
    ARITHMETIC,
    COMPOUND,
    KEYWORDS,
    REDIRECTS,
    STATEMENTS,
    TOKENS,
    WORDS,
    could_start_comment,
    evaluates,
    expansion,
    follows_number,
    has_space,
    is_separate_word,
    is_shallow,
    leaves,
    parser,
    runs_something,
    words_of_test,
)
from bridle.agent.permissions.bash.heredoc import check_heredoc, text_block
from bridle.agent.permissions.bash.parsed_command import Command, Redirect, Script, is_own
from bridle.agent.permissions.bash.words import PARSE_ERROR, UNREADABLE, Word, plain, read_word

if TYPE_CHECKING:
    from tree_sitter import Node  # for annotations only; the library is loaded with the first command

# Each level costs a frame of Python's stack.
LIMIT_DEPTH: Final = 60

TOO_DEEP: Final = "Command is nested too deeply to be read"

# The grammar loses a word that is a single dash, so it gets a letter instead (words are read from the text).
_DASH = re.compile(rb"(?<=[ \t])-(?=[ \t\n;|&)<>]|\Z)")
# The grammar looks characters up in a table that ends with ASCII, and crashes the process beyond it. It gets dots
# instead of other characters, which like them occur in words but not in variable names.
_ASCII_ONLY = bytes(letter if letter < 0x80 else ord(".") for letter in range(256))
_GAP = re.compile(r"(?:[ \t\n]|\\\n)*\Z")
# Function names that bash takes literally.
_FUNCTION = re.compile(r"[A-Za-z0-9_-]+\Z")


class TreeReader:
    """Walks one syntax tree and collects its commands and doubts."""

    def __init__(self, text: str, home: str) -> None:
        self._home = home
        self._bytes = text.encode()
        self._commands: list[Command] = []
        self._doubts: list[str] = []
        self._inputs: list[str] = []
        self._functions: list[tuple[str, int]] = []
        self._background = False
        self._is_broken = False

    def script(self) -> Script:
        doubts = tuple(dict.fromkeys(self._doubts))
        found = tuple(self._commands), doubts, self._is_broken, tuple(self._functions)
        return Script(*found, self._background, tuple(self._inputs))

    def _broken(self, doubt: str) -> None:
        self._doubts.append(doubt)
        self._is_broken = True

    def read(self) -> None:
        """Parse the text and walk the tree."""
        root = parser().parse(_DASH.sub(b"a", self._bytes).translate(_ASCII_ONLY)).root_node
        if root.has_error:
            self._broken(PARSE_ERROR)
        if not is_shallow(root, LIMIT_DEPTH):
            self._broken(TOO_DEEP)
            return
        self._check_gaps(root)
        self._statement(root)

    def _slice(self, node: Node) -> str:
        return self._bytes[node.start_byte : node.end_byte].decode()

    def _check_gaps(self, root: Node) -> None:
        """Check that only white space is between tokens, and line continuations only between words."""
        end = root.start_byte if root.parent is not None else 0
        for leaf in leaves(root):
            gap = self._bytes[end : leaf.start_byte].decode(errors="replace")
            if not _GAP.match(gap) or ("\\\n" in gap and not has_space(gap, self._bytes[end - 1 : end])):
                self._broken(UNREADABLE)
            if leaf.type == "comment" and not could_start_comment(self._bytes, leaf.start_byte):
                self._broken(UNREADABLE)
            end = leaf.end_byte
        rest = self._bytes[end : root.end_byte if root.parent is not None else len(self._bytes)]
        if rest.strip(b" \t\n"):
            self._broken(UNREADABLE)

    # Statements

    def _statement(self, node: Node) -> None:
        kind = node.type
        if kind in COMPOUND:
            self._compound(node)
        elif kind == "command":
            self._command(node, ())
        elif kind == "redirected_statement":
            self._redirected(node)
        elif kind in ("variable_assignment", "variable_assignments"):
            self._assignments(node)
        elif kind in ("declaration_command", "unset_command"):
            self._declaration(node)
        elif kind == "test_command":
            self._test(node)
        elif kind == "for_statement":
            self._for(node)
        elif kind in ("case_statement", "case_item"):
            self._case(node)
        elif kind == "function_definition":
            self._function(node)
        elif kind != "comment":
            self._unknown(node)

    def _compound(self, node: Node) -> None:
        before: Node | None = None
        for child in node.children:
            if child.is_named:
                if before is not None and child.type != "comment" and not self._are_apart(before, child):
                    self._broken("Contains commands that nothing separates")
                self._statement(child)
                before = child if child.type not in ("comment", "elif_clause", "else_clause") else None
            else:
                before = None
                if child.type == "&":
                    self._background = True
                elif child.type not in TOKENS:
                    self._broken(f"Contains {node.type}")
                elif child.type in KEYWORDS and not is_separate_word(self._bytes, child.start_byte, child.end_byte):
                    self._broken(UNREADABLE)
        if node.type == "while_statement" and before is None and not node.named_children:
            self._broken(PARSE_ERROR)

    def _are_apart(self, before: Node, after: Node) -> bool:
        """Return whether a line ends between two statements (a here-document ends its own line)."""
        gap = self._bytes[before.end_byte : after.start_byte]
        if after.type in ("do_group", "elif_clause", "else_clause"):
            return True
        return b"\n" in gap.replace(b"\\\n", b"") or self._bytes[before.end_byte - 1 : before.end_byte] == b"\n"

    def _redirected(self, node: Node) -> None:
        bodies = [child for child in node.named_children if child.type not in REDIRECTS]
        redirects = tuple(child for child in node.named_children if child.type in REDIRECTS)
        if len(bodies) == 1 and bodies[0].type == "command":
            self._command(bodies[0], redirects)
            return
        found: list[Redirect] = []
        strays: list[Node] = []
        for redirect in redirects:
            self._redirect(redirect, found, strays)
        if strays:
            self._broken("Contains words after a redirection that cannot be placed")
        if found or not bodies:
            self._commands.append(Command((), redirects=tuple(found), text=self._slice(node), place=node.start_byte))
        for body in bodies:
            self._statement(body)

    def _command(self, node: Node, outer: tuple[Node, ...]) -> None:
        words: list[Node] = []
        redirects: list[Redirect] = []
        assignments: list[tuple[str, Word | None]] = []
        for child in (*node.children, *outer):
            if child.type == "variable_assignment":
                assignments.append(self._assignment(child))
            elif child.type == "command_name":
                words += child.children if child.child_count == 1 else [child]
            elif child.type in REDIRECTS:
                self._redirect(child, redirects, words)
            elif child.type in WORDS:
                words.append(child)
            elif child.type == "subshell":
                self._unknown(child)
            elif child.type != "comment":
                self._broken(f"Contains {child.type}")
                self._statement(child)
        words.sort(key=lambda word: word.start_byte)
        self._check_neighbours(words)
        read = tuple(self._word(word) for word in words)
        if read and read[0].text in KEYWORDS:
            self._broken(f"Contains {read[0].text} where it cannot be understood")
        text = self._slice(node if not outer or node.parent is None else node.parent)
        self._commands.append(Command(read, tuple(assignments), tuple(redirects), text.strip(), node.start_byte))

    def _check_neighbours(self, words: list[Node]) -> None:
        """Check that white space, but no line ending, is between the words of a command."""
        for before, after in pairwise(words):
            gap = self._bytes[before.end_byte : after.start_byte]
            if not gap or b"\n" in gap.replace(b"\\\n", b""):
                self._broken("Contains words that cannot be told apart")  # language: a fixed phrase

    def _assignments(self, node: Node) -> None:
        parts = [node] if node.type == "variable_assignment" else node.named_children
        found = tuple(self._assignment(part) for part in parts)
        self._commands.append(Command((), found, text=self._slice(node), place=node.start_byte))

    def _assignment(self, node: Node) -> tuple[str, Word | None]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or name.type != "variable_name" or (value is not None and value.type not in WORDS):
            self._broken("Contains an assignment that cannot be read")
            self._descend(node)
            return self._slice(node).partition("=")[0], None
        if value is None:
            return self._slice(name), Word("", "")
        word = self._word(value, in_assignment=True)
        return self._slice(name), word

    def _declaration(self, node: Node) -> None:
        words = tuple(read_word(self._slice(child), self._home) for child in node.children if child.type != "comment")
        self._doubts += [word.doubt for word in words if word.doubt]
        self._descend(node)
        self._commands.append(Command(words, text=self._slice(node), place=node.start_byte))

    def _test(self, node: Node) -> None:
        """Add `[ … ]` as a command; `[[ … ]]` is safe unless bash would evaluate something in it."""
        text = self._slice(node)
        if text.startswith("[["):
            self._double_test(node, text)
            return
        pieces = list(words_of_test(node))
        self._check_neighbours(pieces)
        words = tuple(self._word(piece) for piece in pieces)
        self._commands.append(Command(words, text=text, place=node.start_byte))

    def _double_test(self, node: Node, text: str) -> None:
        if not re.match(r"\[\[\s.*\s\]\]\Z", text, re.DOTALL):
            self._unknown(node)  # for bash, the beginning of a longer word
        elif any(part in text for part in ("$", "`", "<(", ">(")):
            self._unknown(node, expansion(node) or "Contains test_command")
        elif re.search(r"\s-(?:eq|ne|lt|le|gt|ge|v|R|o)\s", text) and not re.fullmatch(
            r"\[\[\s+-?\d+\s+-(?:eq|ne|lt|le|gt|ge)\s+-?\d+\s+\]\]", text
        ):
            # Both sides of these are evaluated, and evaluating a name can run a command.
            self._unknown(node, "Contains test_command")

    def _for(self, node: Node) -> None:
        for child in node.children:
            if child.type == "do_group":
                self._statement(child)
            elif child.type == "variable_name":
                if not is_own(self._slice(child), plain("")):
                    self._broken(f"Contains a loop that sets {self._slice(child)}")
            elif child.type in WORDS:
                self._word(child, is_data=True)
            elif child.type not in ("for", "in", ";", "\n"):
                self._broken(f"Contains {child.type}")
                self._descend(child)

    def _case(self, node: Node) -> None:
        for child in node.children:
            if child.type == "case_item":
                self._case(child)
            elif child.type in WORDS:
                self._word(child, is_data=True)
            elif child.is_named:
                self._statement(child)
            elif child.type not in ("case", "in", "esac", "|", ")", "(", ";;", ";", "\n", "&"):
                self._broken(f"Contains {node.type}")
            if child.type == "&":
                self._background = True

    def _function(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None or body.type not in ("compound_statement", "subshell"):
            self._unknown(node)
            return
        called = self._slice(name)
        if called == "cat":
            self._broken("Contains a function named cat")  # see text_block
        if node.parent is not None and node.parent.type == "program" and _FUNCTION.match(called):
            self._functions.append((called, node.end_byte))
        strays: list[Node] = []
        found: list[Redirect] = []
        for child in node.named_children:
            if child.type in REDIRECTS:
                self._redirect(child, found, strays)
        if strays:
            self._broken("Contains words after a redirection that cannot be placed")
        if found:
            self._commands.append(Command((), redirects=tuple(found), text=self._slice(node), place=node.start_byte))
        self._statement(body)

    # Redirections

    def _redirect(self, node: Node, found: list[Redirect], words: list[Node]) -> None:
        """Add a redirection; words after its target belong to the command."""
        if follows_number(self._bytes, node.start_byte):
            self._broken(UNREADABLE)
        if node.type == "file_redirect":
            self._file_redirect(node, found, words)
        elif node.type == "herestring_redirect":
            words_of_input = [self._word(child) for child in node.named_children]
            self._inputs += [word.text if word.value is None else word.value for word in words_of_input]
        else:
            self._heredoc(node, found, words)

    def _file_redirect(self, node: Node, found: list[Redirect], words: list[Node]) -> None:
        operator, target = "", None
        for child in node.children:
            if child.type == "file_descriptor":
                # The grammar takes `-o2` of `-o2>f` for one; bash takes digits alone.
                if not self._slice(child).isdecimal():
                    self._broken(UNREADABLE)
                continue
            if not child.is_named and not operator:
                operator = child.type
            elif target is None and child.type in WORDS:
                target = child
            elif child.type in WORDS:
                words.append(child)
            else:
                self._unknown(child)
        if operator in (">&-", "<&-"):
            words += [target] if target is not None else []  # it has no target: what follows is a word of the command
            return
        if target is None or operator not in ("<", ">", ">>", "&>", "&>>", ">|", ">&", "<&"):
            self._broken("Contains a redirection that cannot be read")
            return
        word = self._word(target)
        if operator in (">&", "<&") and word.text.startswith("-") and word.text != "-":
            self._broken(UNREADABLE)  # for bash, only the dash is the target
        if operator in (">&", "<&") and word.value is not None and re.fullmatch(r"[0-9]+|-|[0-9]+-", word.value):
            return
        found.append(Redirect("<" if operator in ("<", "<&") else ">", word))

    def _heredoc(self, node: Node, found: list[Redirect], words: list[Node]) -> None:
        doubt, is_broken = check_heredoc(node, self._bytes)
        if is_broken:
            self._broken(doubt or PARSE_ERROR)
        elif doubt:
            self._doubts.append(doubt)
        for child in node.children:
            if child.type == "heredoc_body":
                self._inputs.append(self._slice(child))
                self._descend(child)
            elif child.type in REDIRECTS:
                self._redirect(child, found, words)
            elif child.type in WORDS:
                words.append(child)
            elif child.is_named and child.type not in ("heredoc_start", "heredoc_end", "file_descriptor"):
                self._statement(child)
            elif child.type == "&":
                self._background = True

    # Words

    def _word(self, node: Node, *, in_assignment: bool = False, is_data: bool = False) -> Word:
        """Return the word of a node, and add the commands in it."""
        text = self._slice(node)
        block = text_block(text)
        if block is not None and not is_data:
            self._commands.append(Command((plain("cat"),), text="cat", place=node.start_byte))
            return Word(text, block)
        if ARITHMETIC.match(text):
            return Word(text, None)  # a number is neither an option nor a path
        word = read_word(text, self._home)
        if in_assignment and word.value is not None and "~" in text:
            word = Word(text, None, doubt="Contains a tilde that cannot be followed")
        if word.value is None:
            self._take_unknown(node, word, is_data=is_data)
        return word

    def _take_unknown(self, node: Node, word: Word, *, is_data: bool) -> None:
        doubt = word.doubt or f"Contains {node.type}"
        if word.is_broken or evaluates(node):
            self._broken(doubt)
        elif not is_data or runs_something(node):
            self._doubts.append(doubt)
        self._descend(node)

    def _unknown(self, node: Node, doubt: str | None = None) -> None:
        self._broken(doubt or f"Contains {node.type}")
        self._descend(node)

    def _descend(self, node: Node) -> None:
        """Add every statement below a node that is not understood."""
        for child in node.children:
            if child.type in STATEMENTS:
                self._check_gaps(child)
                self._statement(child)
            else:
                self._descend(child)
