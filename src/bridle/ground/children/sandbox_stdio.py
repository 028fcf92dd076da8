"""Standard input and output of a sandboxed child: under other numbers, since bwrap keeps its own open until it ends.

bwrap closes all but its standard descriptors, so a child that closes one of these has closed it. A shell moves them
to their usual numbers and becomes the child. Where it cannot, it prints a mark that it has read from a descriptor: the
child cannot know it, so it cannot pass off its own end as a failed start.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from msgspec import Struct

_SHELL = "/bin/sh"
# Shells know numbers of one digit.
_NUMBERS = range(3, 10)
# In bash a failed `exec` ends the shell without its trap, unless the option is set; other shells do not know it.
_SCRIPT = (
    "read -r mark <&{mark}; exec {mark}<&-; shopt -s execfail 2>/dev/null; trap 'echo \"$mark\" >&2' EXIT;"
    ' exec "$0" "$@" <&{stdin} >&{stdout} {stdin}<&- {stdout}>&-'
)


class MovedStdio(Struct, frozen=True):
    """The numbers of standard input and output, and of the file with the mark."""

    stdin: int
    stdout: int
    mark: int

    def command(self, argv: Collection[str]) -> list[str]:
        """Return a command that becomes the other one, with the usual numbers."""
        return [_SHELL, "-c", _SCRIPT.format(stdin=self.stdin, stdout=self.stdout, mark=self.mark), *argv]


def choose_numbers(used: Collection[int], environment: Mapping[str, str]) -> MovedStdio | None:
    """Return numbers that are not used; None where a shell cannot help: it drops variables with other names."""
    free = [number for number in _NUMBERS if number not in used][:3]
    is_passed_on = all(name.isascii() and name.isidentifier() for name in environment)
    return MovedStdio(*free) if len(free) == 3 and is_passed_on and os.access(_SHELL, os.X_OK) else None


def make_mark() -> str:
    """Return a new mark."""
    return f"bridle: not executed ({os.urandom(16).hex()})"
