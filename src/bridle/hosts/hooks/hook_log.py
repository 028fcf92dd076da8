"""The log of hook warnings: hosts hide what hooks print, so it is also written to a file."""

from __future__ import annotations

import os
import time

from bridle.ground.home import find_home
from bridle.ground.light.abc_names import Iterable, Mapping
from bridle.ground.light.moments import iso

LOG_FOLDER_VARIABLE = "BABYSITTER_LOG_DIR"
NAME = "hooks.log"

# A warning at every stop must not fill the disk. One older file is kept beside it.
LOG_LIMIT_BYTES = 1024 * 1024


def path_of(environ: Mapping[str, str]) -> str | None:
    """Return the path of the log: in the log folder if set, else in Bridle's home folder; None if both are unset."""
    folder = environ.get(LOG_FOLDER_VARIABLE) or find_home(environ)
    return os.path.join(folder, NAME) if folder else None


def append(warnings: Iterable[str], environ: Mapping[str, str]) -> None:
    """Append the warnings; ignore failures, since standard error has them too."""
    path = path_of(environ)
    if path is None:
        return
    moment = iso(time.time_ns())
    text = "".join(f"{moment} {os.getpid()} {warning}\n" for warning in warnings)
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
        pass  # already printed on standard error
