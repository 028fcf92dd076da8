"""Commands that Bridle refused inside a sandbox: a file for their names, which the driver reads when it has ended.

In a sandbox no program can write a journal. What is in the file comes from untrusted programs: only names of commands
count, and not many of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from bridle.ground import disk

FILE_NAME = ".bridle-refused"
# Where bubblewrap shows the file; on macOS it is in the folder that TMPDIR names.
FOLDER = Path("/tmp")  # noqa: S108  # inside, it is private

_COMMAND = re.compile(r"[a-z]+(?::[a-z-]+)?(?: --[a-z]+)?")
_LIMIT_BYTES = 4096
_LIMIT = 50

OnRefused = Callable[[list[str]], object]


def report(file: Path, on_refused: OnRefused) -> None:
    """Report the commands in the file, if there are any."""
    text = disk.read_part(file, _LIMIT_BYTES, follow_links=False) or b""
    lines = text.decode("ascii", "replace").split("\n")[:_LIMIT]
    if commands := [line for line in lines if _COMMAND.fullmatch(line)]:
        on_refused(commands)


def leave(command: str) -> None:
    """Add a command to the file, if this process is in a sandbox that has one."""
    for folder in filter(None, (os.environ.get("TMPDIR"), str(FOLDER))):
        try:
            fd = os.open(os.path.join(folder, FILE_NAME), os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            os.write(fd, f"{command}\n".encode())
        except OSError:
            continue
        finally:
            os.close(fd)
        return
