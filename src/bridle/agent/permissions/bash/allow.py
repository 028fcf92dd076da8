"""Decides whether every part of a command is allowed: by a rule, as read-only, or by the mode."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from bridle.agent.permissions.bash.changed_files import files_changed, written_by_options
from bridle.agent.permissions.bash.git_commands import git_command, git_folders, is_bare_repository, runs_more
from bridle.agent.permissions.bash.parse import read_script
from bridle.agent.permissions.bash.parsed_command import DECLARERS, Command, FilesUsed, Script, is_harmless, is_own
from bridle.agent.permissions.bash.read_only import files_read
from bridle.agent.permissions.bash.reasons import Problem, ask, suggest
from bridle.agent.permissions.bash.rule_patterns import Pattern, compile_rule, matches
from bridle.agent.permissions.bash.words import Word, plain
from bridle.agent.permissions.bash.wrappers import (
    EVALUATORS,
    LIMIT_WRAPPERS,
    basename,
    differs,
    evaluates,
    is_carrier,
    unwrap,
)
from bridle.agent.permissions.rules import denial_messages
from bridle.agent.permissions.rules.file_access import EDITING_MODES, may_change, may_read
from bridle.agent.permissions.rules.policy import Allowed, NeedsApproval, Policy, Verdict
from bridle.agent.permissions.rules.rule_paths import (
    STREAMS,
    glob_matches,
    is_inside,
    is_protected,
    links_below,
)
from bridle.agent.permissions.rules.syntax import names_tool
from bridle.ground.files.real_path import resolve

# The most folders that a command may be in after several `cd`.
_LIMIT_FOLDERS: Final = 16


def decide_parts(script: Script, policy: Policy) -> Verdict:
    """Decide whether every part is allowed, if no rule denies any."""
    if script.doubts:
        return NeedsApproval(script.doubts[0], denial_messages.advise_simpler())
    if script.runs_in_background:
        return NeedsApproval(denial_messages.BACKGROUND, denial_messages.advise_simpler(), kind="safetyCheck")
    finder = _ProblemFinder(script, policy)
    problems = [problem for command in script.commands for problem in finder.find(command)]
    if finder.doubt is not None:
        return NeedsApproval(finder.doubt, denial_messages.advise_simpler())
    if not problems:
        return Allowed(finder.reason or "read-only")
    return ask(problems, len(script.commands), policy)


class _ProblemFinder:
    """Finds the problems of the parts of one command."""

    def __init__(self, script: Script, policy: Policy) -> None:
        self._policy = policy
        self._start = policy.shell_folder or policy.cwd
        self._allow = [
            compile_rule(rule) for rule in policy.allow if rule.specifier is not None and names_tool(rule, "Bash")
        ]
        self._functions = dict(reversed(script.functions))
        self._runs_nothing = not any(command.words for command in script.commands)
        self.doubt: str | None = None
        self.reason: str | None = None
        self._folders = self._possible_folders(script)

    def find(self, command: Command, depth: int = 0) -> list[Problem]:
        """Return why one simple command is not allowed."""
        problems = [
            problem
            for redirect in command.redirects
            for problem in self._redirect(command, redirect.is_read, redirect.target)
        ]
        if not command.words:
            return problems + self._assignments(command)
        return problems + self._words(command, depth)

    def _words(self, command: Command, depth: int) -> list[Problem]:
        words = command.words
        if words[0].value == "git" and self._is_git_elsewhere(words):
            return [Problem(command.text, denial_messages.GIT_ELSEWHERE)]
        if words[0].value in ("rm", "rmdir"):
            danger = self._danger(command)
            if danger:
                return danger
        harmless = all(is_harmless(name, value) for name, value in command.assignments)
        if self._has_rule(command, harmless=harmless):
            return []
        if not harmless:
            return [self._no_rule(command)]
        defined = self._functions.get(words[0].value or "") if depth == 0 else None  # wrappers cannot run functions
        if defined is not None and defined <= command.place and words[0].is_plain:
            return []
        inside = unwrap(words)
        if inside is not None and depth < LIMIT_WRAPPERS:
            return self._inside(command, inside.words, inside.assignments, inside.code, depth + 1)
        if words[0].value in EVALUATORS:
            return [self._no_rule(command, f"'{words[0].value}' evaluates arguments as shell code")]
        return self._touches(command)

    def _inside(
        self,
        command: Command,
        words: tuple[Word, ...],
        assignments: tuple[tuple[str, Word | None], ...],
        code: str | None,
        depth: int,
    ) -> list[Problem]:
        if code is None and _is_cd(Command(words)):
            return [self._no_rule(command)]  # a cd inside a wrapper is not followed
        if code is None:
            return self.find(Command(words, assignments, text=command.text, place=command.place), depth)
        script = read_script(code, self._policy.home)
        if script.doubts or script.runs_in_background:
            self.doubt = script.doubts[0] if script.doubts else denial_messages.BACKGROUND
        if any(_is_cd(inner) for inner in script.commands) or differs(command.words[0].value, code):
            return [self._no_rule(command)]
        problems = [problem for inner in script.commands for problem in self.find(inner, depth)]
        return problems if not script.functions else [self._no_rule(command)]

    # Rules

    def _has_rule(self, command: Command, *, harmless: bool) -> bool:
        full = (
            *(plain(f"{name}={value.value if value else ''}") for name, value in command.assignments),
            *command.words,
        )
        for pattern in self._allow:
            for words in (full, command.words) if harmless else (full,):
                if matches(pattern, words) and self._is_enough(pattern, words):
                    self.reason = f"rule {pattern.rule}"
                    return True
        return False

    def _is_enough(self, pattern: Pattern, words: Sequence[Word]) -> bool:
        """Return whether a matching rule is specific enough: a rule for a wrapper must name what is run."""
        if not pattern.has_star:
            return True
        named, rest = words[: pattern.words_before_star], words[pattern.words_before_star :]
        program = words[0].value or ""
        if not self._covers_writes(program, rest, words):
            return False
        if program in EVALUATORS or evaluates(words):
            return False
        if program in DECLARERS:
            pairs = [(word.value or "").partition("=") for word in rest]
            return all(
                not sign or is_harmless(name, plain(value)) or is_own(name, plain(value)) for name, sign, value in pairs
            )
        if program == "git":
            return not runs_more((words[0], *git_command(named)[1:2], *rest))
        if program == "find":
            touches = files_read((words[0], *rest))
            return touches is not None and touches.objection is None
        if not is_carrier(program):
            return True
        inside = unwrap(words)
        if inside is not None and inside.code is None:
            return len(named) > len(words) - len(inside.words)
        values = [word.value or "" for word in named[1:]]
        return any(value and not value.startswith("-") and not value[0].isdigit() for value in values)

    def _covers_writes(self, program: str, rest: Sequence[Word], words: Sequence[Word]) -> bool:
        """Return whether a rule that names a reading program also covers the files that its options write."""
        written = written_by_options(basename(program), rest, words)
        if written is None:
            return True
        if written.objection is not None or self._folders != [self._start]:
            return False
        paths = [path for word in written.writes for path in self._resolved(word)]
        return all(path is not None and (path in STREAMS or may_change(path, self._policy)) for path in paths)

    def _no_rule(self, command: Command, text: str | None = None) -> Problem:
        return Problem(command.text, text, rules=(f"Bash({suggest(command.text)})",))

    # Dangers that no rule allows

    def _is_git_elsewhere(self, words: Sequence[Word]) -> bool:
        """Return whether git would run in a folder whose settings may name programs to run."""
        if self._folders != [self._start]:
            return True
        folders = [resolve(folder, self._start, self._policy.home) for folder in git_folders(words)]
        return any(folder is None or is_bare_repository(folder) for folder in folders)

    def _danger(self, command: Command) -> list[Problem]:
        """Report a removal of a working folder, the home folder, or a folder above them."""
        program = command.words[0].value or ""
        for word in command.words[1:]:
            if word.value is None or word.value.startswith("-"):
                continue
            target = (
                word if word.glob_at < 0 else plain(word.value[: word.value.rfind("/", 0, word.glob_at) + 1] or ".")
            )
            for resolved in self._resolved(target):
                if resolved is not None and self._is_vital(resolved, is_whole=word.glob_at < 0):
                    return [
                        Problem(command.text, denial_messages.dangerous_removal(program, resolved), kind="safetyCheck")
                    ]
        return []

    def _is_vital(self, resolved: str, *, is_whole: bool) -> bool:
        folders = (self._policy.home, *self._policy.working_folders)
        if resolved == "/" or any(is_inside(folder, (resolved,)) for folder in folders):
            return True
        return is_whole and os.path.dirname(resolved) == "/"

    # Files that are read or changed

    def _touches(self, command: Command) -> list[Problem]:
        touches = files_read(command.words)
        changes = files_changed(command.words)
        accepts = self._policy.mode in EDITING_MODES
        if (touches is None or touches.objection) and changes is not None:
            touches = changes
            if not accepts and changes.objection is None:
                # Name the first path as the reason, in a mode that accepts no edits.
                first = (*changes.removes, *changes.reads, *changes.writes)[0]
                resolved = resolve(first.value or "", self._start, self._policy.home)
                return [self._path_problem(command, resolved or first.text, "write")]
        if touches is None:
            return [self._no_rule(command)]
        if touches.objection is not None:
            return [self._no_rule(command, touches.objection)]
        if not is_inside(self._start, self._policy.working_folders):
            return [self._no_rule(command)]  # without a path, it would read the shell's folder
        if touches.is_git and is_bare_repository(self._start):
            return [Problem(command.text, denial_messages.GIT_ELSEWHERE)]
        return self._paths(command, touches)

    def _paths(self, command: Command, touches: FilesUsed) -> list[Problem]:
        problems: list[Problem] = []
        for word in touches.reads:
            problems += self._read(command, word, follows=touches.follows)
        for word in (*touches.writes, *touches.removes):
            problems += self._write(command, word)
        return problems[:1]

    def _read(self, command: Command, word: Word, *, follows: bool) -> list[Problem]:
        if word.value == "-":
            return []
        for resolved in self._resolved(word):
            if resolved is None:
                return [self._no_rule(command)]
            if resolved not in STREAMS and not may_read(resolved, self._policy):
                return [self._path_problem(command, resolved, "read")]
            if follows:
                return self._links(command, resolved)
        return []

    def _links(self, command: Command, folder: str) -> list[Problem]:
        """Report links that lead a command outside the readable folders."""
        links = links_below(folder)
        if links is None:
            return [self._no_rule(command)]
        outside = next((link for link in links if not may_read(link, self._policy)), None)
        return [self._path_problem(command, outside, "read")] if outside else []

    def _write(self, command: Command, word: Word) -> list[Problem]:
        if self._folders != [self._start]:
            return [Problem(command.text, denial_messages.WRITE_ELSEWHERE)]
        for resolved in self._resolved(word):
            if resolved is None:
                return [self._no_rule(command)]
            if resolved not in STREAMS and not may_change(resolved, self._policy):
                return [self._path_problem(command, resolved, "write")]
        self.reason = self.reason or f"mode {self._policy.mode}"
        return []

    def _redirect(self, command: Command, is_read: bool, target: Word) -> list[Problem]:  # noqa: FBT001  # a field, passed on
        if target.glob_at >= 0:
            return [self._no_rule(command)]
        if not is_read and self._folders != [self._start] and target.value not in STREAMS:
            return [Problem(command.text, denial_messages.WRITE_ELSEWHERE)]
        for resolved in self._resolved(target):
            if resolved is None:
                return [self._no_rule(command)]
            allowed = may_read(resolved, self._policy) if is_read else may_change(resolved, self._policy)
            if resolved not in STREAMS and target.value not in STREAMS and not allowed:
                return [self._path_problem(command, resolved, "read" if is_read else "redirect", is_redirect=True)]
        return []

    def _path_problem(self, command: Command, path: str, action: str, *, is_redirect: bool = False) -> Problem:
        folders = self._policy.working_folders
        rules = (f"Bash({suggest(command.text)})",)
        if is_redirect:
            text = denial_messages.blocked_redirect(path, folders, is_read=action == "read")
            rules = (f"{'Read' if action == 'read' else 'Edit'}(/{path})",)
        else:
            text = denial_messages.blocked(command.words[0].value or "", path, folders)
            if action == "read":
                rules = (f"Read(/{path})",)
        kind = "safetyCheck" if action != "read" and is_protected(path) else "other"
        return Problem(command.text, text, path, rules, kind, action)

    def _resolved(self, word: Word) -> list[str | None]:
        """Return every path that a word may mean, from every possible folder of the shell."""
        if word.value is None or self._folders is None:
            return [None]
        paths: list[str | None] = []
        for folder in self._folders:
            names: list[str] | None = [word.value]
            if word.glob_at >= 0:
                names = glob_matches(word.value, word.glob_at, folder)
                if names is None or any(name.startswith("-") for name in names):
                    return [None]  # too many, or one that looks like an option
                names = [*names, word.value]
            paths += [resolve(name, folder, self._policy.home) for name in names or ()]
        return paths

    def _possible_folders(self, script: Script) -> list[str] | None:
        folders = [self._start]
        for command in script.commands:
            if not _is_cd(command):
                continue
            touches = files_read(command.words) if command.words[0].value == "cd" else None
            if touches is None or touches.goes_to is None or len(folders) > _LIMIT_FOLDERS:
                return None
            target = touches.goes_to.value or ""
            more = [resolve(target, folder, self._policy.home) for folder in folders]
            folders += [folder for folder in more if folder is not None and folder not in folders]
            if None in more:
                return None
        return folders

    def _assignments(self, command: Command) -> list[Problem]:
        known = self._runs_nothing or all(is_harmless(*pair) or is_own(*pair) for pair in command.assignments)
        return [] if known else [self._no_rule(command)]


def _is_cd(command: Command) -> bool:
    return bool(command.words) and command.words[0].value in ("cd", "pushd", "popd", "chdir")
