"""The command with which an agent calls Bridle from its shell, and quoting for that shell.

`shlex` is not used: it imports regular expressions.
"""

from __future__ import annotations

import os
import sys

from bridle.ground.light.abc_names import Mapping

NAME = "bridle"

# Its path in the plugin that `bridle plugin install` writes.
IN_PLUGIN = "bin/bridle"

_PLAIN_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-")


def find_program(environ: Mapping[str, str]) -> str:
    """Return `bridle` if it is on the PATH, else the path of the one beside this interpreter."""
    folders = environ.get("PATH", "").split(os.pathsep)
    if any(folder and os.access(os.path.join(folder, NAME), os.X_OK) for folder in folders):
        return NAME
    beside = os.path.join(os.path.dirname(sys.executable), NAME)
    return beside if os.access(beside, os.X_OK) else NAME


def is_plain(text: str) -> bool:
    """Return whether the text needs no quotes."""
    return bool(text) and _PLAIN_LETTERS.issuperset(text)


def shell_word(text: str) -> str:
    """Quote a text as one word."""
    return text if is_plain(text) else "'" + text.replace("'", "'\\''") + "'"
