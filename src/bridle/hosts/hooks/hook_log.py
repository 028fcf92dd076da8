"""Where a person finds what went wrong in hooks: hosts hide what hooks say, so it is also kept in a file."""

from __future__ import annotations

import os
import time

from bridle.ground.home import find_home
from bridle.ground.light.abc_names import Iterable, Mapping
from bridle.ground.light.moments import iso

LOG_FOLDER_VARIABLE = "BABYSITTER_LOG_DIR"
NAME = "hooks.log"

# Trouble that comes at every stop must not fill the disk; the file before this one is kept beside it.
LOG_LIMIT_BYTES = 1024 * 1024


def path_of(environ: Mapping[str, str]) -> str | None:
    """The log: in the folder for logs where one is set, else in the user's own folder; None without either."""
    folder = environ.get(LOG_FOLDER_VARIABLE) or find_home(environ)
    return os.path.join(folder, NAME) if folder else None


def keep(remarks: Iterable[str], environ: Mapping[str, str]) -> None:
    """Append the remarks; where that cannot be done they are on standard error alone."""
    path = path_of(environ)
    if path is None:
        return
    moment = iso(time.time_ns())
    text = "".join(f"{moment} {os.getpid()} {remark}\n" for remark in remarks)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        fd = os.open(path, flags, 0o600)
        try:
            if os.fstat(fd).st_size > LOG_LIMIT_BYTES:
                os.replace(path, f"{path}.old")
            os.write(fd, text.encode("utf-8", "backslashreplace"))
        finally:
            os.close(fd)
    except (OSError, ValueError):
        pass  # said on standard error already
