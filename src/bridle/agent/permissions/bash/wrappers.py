"""Programs that run other programs, and what they run.

There are two strict interpretations. To allow, a wrapper is unwrapped only if its options are known and do not change
what runs. To deny, everything after a wrapper's name counts as a command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from bridle.agent.permissions.bash.words import Word

# The most nested wrappers that are unwrapped.
LIMIT_WRAPPERS: Final = 8

SHELLS: Final = frozenset({"sh", "bash", "dash"})
_OTHER_SHELLS: Final = frozenset(
    {"ash", "csh", "elvish", "fish", "ksh", "mksh", "nu", "pwsh", "rbash", "tcsh", "xonsh", "zsh"}
)
# Programs that run their arguments, a part of them, or their input as a command.
_CARRIER_NAMES: Final = """
alias apptainer at batch bubblewrap builtin busybox bwrap caffeinate chpst chroot chrt command coproc cpulimit
daemonize dbus-launch dbus-run-session direnv doas dosbox dumb-init entr env eval exec expect fakechroot
fakeroot faketime find firejail flock gdb gosu guix hyperfine ionice ld.so linux32 linux64 lldb ltrace
mapfile nice nohup nsenter numactl op parallel perf pkexec poetry prlimit proot proxychains proxychains4
readarray rlwrap rr run-parts runuser s6-setuidgid schroot script setarch setpriv setsid setuidgid sg
softlimit ssh ssh-agent sshpass start-stop-daemon stdbuf strace su sudo sudoedit systemd-inhibit
systemd-run taskset time timeout tini tmux torify torsocks toybox trap ts tsocks unbuffer unshare uv
valgrind watch watchexec wine with-contenv xargs xvfb-run zsh
"""
ALL_SHELLS: Final = SHELLS | _OTHER_SHELLS
# Programs that may take their input for commands.
READS_COMMANDS: Final = ALL_SHELLS | {".", "at", "batch", "eval", "source", "ssh", "su"}
CARRIERS: Final = SHELLS | _OTHER_SHELLS | frozenset(_CARRIER_NAMES.split())
# Builtins that evaluate code or change the meaning of later commands.
_EVALUATOR_NAMES: Final = ". alias bind compgen complete enable eval exec fc hash let mapfile readarray source trap"
EVALUATORS: Final = frozenset(_EVALUATOR_NAMES.split())


# Programs that join their arguments and pass them to a shell.
_JOINERS: Final = frozenset({"eval", "ssh", "su", "trap", "watch"})
# An option of env, with its value in the same word.
_SPLIT_STRING = re.compile(r"-(?!-)\w*?S(.+)", re.DOTALL)
_CODE = re.compile(r"[\s;|&$`]")
# In dash, `[[` is a program, `10>` a word and a redirection, `&>` a separator and a redirection, `+=` part of a name.
_BASH_ONLY = re.compile(r"\[\[|[0-9]{2}[<>]|&>|\+=")


# Builtins that take variable names; a name may have an index, which is evaluated.
_NAMER_NAMES: Final = (
    "[ declare export getopts let local mapfile printf read readarray readonly test typeset unset wait"
)
NAMERS: Final = frozenset(_NAMER_NAMES.split())
# Options of tar whose value is run; GNU tar accepts abbreviations.
_TAR_RUNS = re.compile(r"--(?:checkpoint-a|to-c|use-|rsh|rmt|info-|new-)|-(?!-)[A-Za-z]*[IF]")
_TAR_LETTERS = re.compile(r"[A-Za-z]*[IF]")
_INDEX_CODE = re.compile(r"\$\(|`|\$\{")


class WrappedCommand(msgspec.Struct, frozen=True):
    """What a wrapper certainly runs."""

    words: tuple[Word, ...] = ()
    assignments: tuple[tuple[str, Word | None], ...] = ()
    code: str | None = None
    """Shell code instead of words."""


def unwrap(words: Sequence[Word]) -> WrappedCommand | None:
    """Return what a wrapper runs; None if it is not one, or if its options are unknown."""
    if not words or words[0].value is None:
        return None
    reader = _TRANSPARENT.get(words[0].value)
    return reader(words[1:]) if reader else None


def is_carrier(program: str) -> bool:
    """Return whether a program of this name runs other programs that its arguments name."""
    return basename(program) in CARRIERS


def basename(program: str) -> str:
    """Return the lower-case name of a program without its folder (some disks ignore case)."""
    return program.rstrip("/").rpartition("/")[2].lower()


def carries(words: Sequence[Word]) -> Iterator[str]:
    """Yield the words of a wrapper that it, or a shell that it starts, may take for code."""
    values = [word.value for word in words[1:] if word.value is not None]
    yield from (value for value in values if _CODE.search(value))
    yield from (value.partition("=")[2] for value in values if "=" in value)
    yield from (found[1] for value in values if (found := _SPLIT_STRING.fullmatch(value)) is not None)
    if basename(words[0].value or "") in _JOINERS:
        yield " ".join(values)


def named_code(words: Sequence[Word]) -> Iterator[str]:
    """Yield the variable names with an index, which bash evaluates and which may contain a command."""
    values = (word.value or "" for word in words[1:])
    yield from (value for value in values if "[" in value and _INDEX_CODE.search(value))


def evaluates(words: Sequence[Word]) -> bool:
    """Return whether a builtin takes a variable's name with an index, or a program has an option that runs another."""
    program, values = basename(words[0].value or ""), [word.value or "" for word in words[1:]]
    if program == "tar":
        return any(_TAR_RUNS.match(value) for value in values) or (
            bool(values) and _TAR_LETTERS.match(values[0]) is not None
        )
    if program not in NAMERS:
        return False
    names = [after for before, after in pairwise(values) if before == "-v"]
    names += [value[2:] for value in values if value.startswith("-v")]
    return any("[" in name for name in names) or any(True for _ in named_code(words))


def reads_code(words: Sequence[Word]) -> bool:
    """Return whether this is a shell that reads commands from its input, which is unknown."""
    if not words or words[0].value is None or basename(words[0].value) not in ALL_SHELLS:
        return False
    rest = [word.value for word in words[1:]]
    if any(value is None for value in rest):
        return True
    options = [value for value in rest if value and value.startswith("-")]
    return (len(options) == len(rest) and not any("c" in option.lstrip("-") for option in options)) or "-s" in options


def differs(shell: str | None, code: str) -> bool:
    """Return whether a shell may parse this code differently from bash."""
    return shell != "bash" and _BASH_ONLY.search(code) is not None


# Interpretations for allowing


def _no_options(words: Sequence[Word]) -> WrappedCommand | None:
    return WrappedCommand(tuple(words)) if words and _is_plain_program(words[0]) else None


def _is_plain_program(word: Word) -> bool:
    return word.is_plain and word.value is not None and not word.value.startswith("-")


def _time(words: Sequence[Word]) -> WrappedCommand | None:
    return _no_options(words[1:] if words and words[0].value == "-p" else words)


def _nice(words: Sequence[Word]) -> WrappedCommand | None:
    if len(words) > 1 and words[0].value == "-n" and re.fullmatch(r"-?\d+", words[1].value or ""):
        return _no_options(words[2:])
    if words and re.fullmatch(r"-n?-?\d+|--adjustment=-?\d+", words[0].value or ""):
        return _no_options(words[1:])
    return _no_options(words)


def _timeout(words: Sequence[Word]) -> WrappedCommand | None:
    rest = list(words)
    while rest and rest[0].value is not None and rest[0].value.startswith("-"):
        option = rest.pop(0).value or ""
        if option in ("-k", "-s", "--kill-after", "--signal"):
            if not rest or not rest.pop(0).is_plain:
                return None
        elif not re.fullmatch(
            r"--(?:foreground|preserve-status|verbose)|-v|--(?:kill-after|signal)=\w+|-[ks]\w+", option
        ):
            return None
    if not rest or not re.fullmatch(r"\d+(?:\.\d+)?[smhd]?", rest[0].value or ""):
        return None
    return _no_options(rest[1:])


def _stdbuf(words: Sequence[Word]) -> WrappedCommand | None:
    rest = list(words)
    while rest and re.fullmatch(r"-[ioe](?:0|L|\d+[kKM]?)|--(?:input|output|error)=(?:0|L|\d+)", rest[0].value or ""):
        rest.pop(0)
    return _no_options(rest)


def _env(words: Sequence[Word]) -> WrappedCommand | None:
    assignments: list[tuple[str, Word | None]] = []
    for place, word in enumerate(words):
        if not word.is_plain or word.value is None:
            return None
        name, sign, value = word.value.partition("=")
        if not sign or word.value.startswith("-"):
            inside = _no_options(words[place:])
            return inside and WrappedCommand(inside.words, tuple(assignments))
        assignments.append((name, Word(value, value)))
    return None


def _shell(words: Sequence[Word]) -> WrappedCommand | None:
    """Unwrap `sh -c CODE`, with options that only make the shell stricter or more verbose."""
    rest = list(words)
    has_code = False
    while rest and rest[0].value is not None and rest[0].value.startswith("-"):
        option = rest.pop(0).value or ""
        if option == "-o":
            if not rest or rest.pop(0).value not in ("pipefail", "errexit", "nounset"):
                return None
        elif not re.fullmatch(r"-[ceux]+", option):
            return None
        has_code = has_code or ("c" in option and option != "-o")
    if not has_code or not rest or not rest[0].is_plain:
        return None
    return WrappedCommand(code=rest[0].value)


_TRANSPARENT: Final[dict[str, Callable[[Sequence[Word]], WrappedCommand | None]]] = {
    "bash": _shell,
    "builtin": _no_options,
    "command": _no_options,
    "dash": _shell,
    "env": _env,
    "nice": _nice,
    "nohup": _no_options,
    "sh": _shell,
    "stdbuf": _stdbuf,
    "time": _time,
    "timeout": _timeout,
}
