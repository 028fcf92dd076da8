"""Programs that do nothing but write down that they ran: what bash really runs for a command, seen and harmless."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

BASH = shutil.which("bash") or "/bin/bash"
# A command here takes milliseconds; a busy machine takes longer, and an endless loop takes for ever.
LIMIT_SECONDS = 10

# Stand-ins for programs that read and for programs that change.
STANDINS = """
awk cp curl cut date diff evil find git grep head id jq ls make md5sum mkdir mv node npm ps python3 realpath rg rm rmdir
sed seq sleep sort stat sudo tail tee touch tr tree uniq wc which whoami
"""
# Real programs: the wrappers run what they are told to, and what cat prints can become an argument.
REAL = "bash cat dash env nice nohup sh stdbuf timeout xargs"

_RECORDER = f"""#!{BASH}
printf '%s\\0' "${{0##*/}}" "$@" $'\\1' >> "$RECORD"
"""


@dataclass(frozen=True)
class Ran:
    """What one command really ran."""

    programs: tuple[tuple[str, ...], ...]
    """Each with its arguments, in no certain order."""
    ended: bool
    """Whether it came to its end within the limit."""


@dataclass(frozen=True)
class Yard:
    """A folder in which commands can be run without harm."""

    folder: Path
    work: Path
    home: Path

    def run(self, command: str) -> Ran:
        """Give a command to bash, with nothing on its path but stand-ins and a few real programs."""
        record = self.folder / "record"
        record.unlink(missing_ok=True)
        environment = {
            "PATH": str(self.folder / "bin"),
            "HOME": str(self.home),
            "RECORD": str(record),
            "FUNCNEST": "8",  # a function that calls itself ends
        }
        ended = _run([BASH, "-c", command], self.work, environment)
        data = record.read_bytes() if record.exists() else b""
        calls = [part for part in data.split(b"\1\0") if part]
        return Ran(
            tuple(tuple(word.decode("utf-8", "replace") for word in call[:-1].split(b"\0")) for call in calls), ended
        )


def make_yard(folder: Path) -> Yard:
    """Set up stand-ins, a working folder with some files, and a home."""
    programs, work, home = folder / "bin", folder / "work", folder / "home"
    for path in (programs, work, home, work / "src"):
        path.mkdir()
    recorder = folder / "recorder"
    recorder.write_text(_RECORDER)
    recorder.chmod(0o755)
    for name in STANDINS.split():
        os.link(recorder, programs / name)
    for name in REAL.split():
        real = shutil.which(name)
        if real is not None:
            (programs / name).symlink_to(real)
    (work / "notes.txt").write_text("alpha\n")
    (work / "src" / "app.py").write_text("x = 1\n")
    (work / ".git").mkdir()
    return Yard(folder, work.resolve(), home.resolve())


def _run(argv: list[str], cwd: Path, environment: dict[str, str]) -> bool:
    """Run it in a session of its own; whatever is left of it afterwards is ended."""
    child = subprocess.Popen(
        argv,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        child.wait(LIMIT_SECONDS)
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        _end_group(child.pid)
        child.wait()


def _end_group(group: int) -> None:
    try:
        os.killpg(group, 9)
    except ProcessLookupError:
        pass
