"""A terminal with the real Claude Code in it, and a person at the keyboard."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.real.scene import KEY, LIMIT_SECONDS, Scene

COLUMNS, LINES = 200, 60
ENTER = "\r"
_ESCAPES = re.compile(rb"\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][0-9A-B]|\x1b[=>78]")
_UNFINISHED = re.compile(rb"(?:\x1b[^a-zA-Z\x07]{0,200}|[\xc0-\xff][\x80-\xbf]{0,2})\Z")
_READ_BYTES = 65536
_POLL_SECONDS = 0.1


@dataclass
class Terminal:
    """What is on a screen, and the keys below it."""

    fd: int
    _text: str = ""
    """Everything that was ever shown, in order; a moved cursor is a space, and many spaces are one."""
    _looked_at: int = 0
    _rest: bytes = b""
    """The beginning of an escape sequence, or of a letter, whose end has not come yet."""

    def waits_for(self, words: str) -> None:
        """Look until the words are on the screen, after those that were waited for last."""
        self.waits_until(lambda: self._text.find(words, self._looked_at) >= 0, words)
        self._looked_at = self._text.index(words, self._looked_at) + len(words)

    def waits_until(self, condition: Callable[[], object], what: str) -> None:
        """Look on until something is so; a program whose screen nobody looks at stands still."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not condition():
            assert time.monotonic() < deadline, f"no {what} with: …{self._text[-3000:]}"
            self._read()

    def types(self, keys: str) -> None:
        """Press these keys."""
        os.write(self.fd, keys.encode())

    def says(self, line: str) -> None:
        """Type a line, see that it stands there, and send it."""
        self.types(line)
        self.waits_for(line)
        self.types(ENTER)

    def _read(self) -> None:
        if not select.select([self.fd], [], [], _POLL_SECONDS)[0]:
            return
        data = self._rest + os.read(self.fd, _READ_BYTES)
        whole = _UNFINISHED.sub(b"", data)
        self._rest = data[len(whole) :]
        more = re.sub(r"\s+", " ", _ESCAPES.sub(b" ", whole).decode("utf-8", "replace"))
        self._text += more[1:] if self._text.endswith(" ") and more.startswith(" ") else more


@contextlib.contextmanager
def terminal(set_up: Scene, argv: list[str]) -> Iterator[Terminal]:
    """Start a program in a terminal of its own, in a folder that its person trusts; ended with the block."""
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(set_up.workspace): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    settings = set_up.home / ".claude"
    settings.mkdir(exist_ok=True)
    (settings / ".claude.json").write_text(json.dumps(known))
    environment = set_up.environment(TERM="xterm-256color", COLUMNS=str(COLUMNS), LINES=str(LINES))
    screen, program = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    ends = {"stdin": program, "stdout": program, "stderr": program, "start_new_session": True}
    try:
        with subprocess.Popen(argv, cwd=set_up.workspace, env=environment, **ends) as child:  # type: ignore[call-overload]  # the ends are files
            try:
                yield Terminal(screen)
            finally:
                child.kill()
    finally:
        os.close(program)
        os.close(screen)
