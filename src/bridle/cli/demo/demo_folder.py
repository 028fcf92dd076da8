"""The folder of the demo: a sample repository, an empty home, and an environment built from scratch."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bridle.cli.demo.sample import FILES
from bridle.errors import DiskError, UsageError
from bridle.ground import disk
from bridle.journal.format import layout
from bridle.journal.stores.file_store import FileStore
from bridle.workspace.git import Git

REPOSITORY = "till"
_KEY = "not-a-key"  # the stage does not check it
_AGENT = '#!/bin/sh\nexec {python} -c "from bridle.cli.main import agent; agent()" "$@"\n'
_IDENTITY = ("-c", "user.name=Bridle demo", "-c", "user.email=demo@localhost")
# What a terminal and a locale need; nothing of the user's settings, accounts or proxies.
_KEPT = ("LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "COLORTERM", "NO_COLOR", "TMPDIR")


class DemoFolder(Struct, frozen=True):
    """The folder of one demo."""

    folder: Path

    @property
    def repository(self) -> Path:
        return self.folder / REPOSITORY

    @property
    def home(self) -> Path:
        """Return the home folder of everything that the demo starts."""
        return self.folder / "home"

    @property
    def agent(self) -> Path:
        """Return the path of a `bridle-agent` that starts this installation."""
        return self.folder / "bin" / "bridle-agent"

    def environment(self, url: str, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of agents and checks, with the model at this URL."""
        own = os.path.dirname(sys.executable)  # so that python3 is the Python of Bridle
        return {
            **{name: inherited[name] for name in _KEPT if name in inherited},
            "PATH": os.pathsep.join((own, inherited.get("PATH", os.defpath))),
            "HOME": str(self.home),
            "BRIDLE_HOME": str(self.home / ".bridle"),
            "BRIDLE_BRIDLE_AGENT": str(self.agent),
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": _KEY,
            "GIT_CONFIG_NOSYSTEM": "1",
        }


def choose_folder(chosen: Path | None) -> Path:
    """Return the chosen folder, which must be empty or new, or a temporary one."""
    if chosen is None:
        return Path(tempfile.mkdtemp(prefix="bridle-demo-")).resolve()
    folder = chosen.absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty", remedy="Name a new folder, or an empty one.")
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{folder} is not a folder", remedy="Name a new folder, or an empty one.") from error
    except OSError as error:
        raise UsageError(f"cannot use {folder}: {error.strerror}") from error
    return folder.resolve()


def find_unfinished(chosen: Path | None) -> tuple[DemoFolder, Path | None] | None:
    """Return the interrupted demo in a folder and its run, if it had one; None without a demo."""
    if chosen is None:
        return None
    demo = DemoFolder(chosen.resolve())
    has_commit = (demo.repository / ".git/refs/heads/main").is_file()
    runs = [path.parent for path in (demo.repository / layout.RUNS_FOLDER).glob(f"*/{layout.RUN_FILE}")]
    if not demo.agent.is_file() or not has_commit or len(runs) > 1:
        return None
    if runs and FileStore(runs[0]).position().end is not None:
        return None
    return demo, runs[0] if runs else None


async def create(folder: Path, inherited: Mapping[str, str]) -> DemoFolder:
    """Write the sample repository with one commit, the home folder and the agent program."""
    demo = DemoFolder(folder)
    for path in (demo.repository, demo.home, demo.agent.parent):
        path.mkdir()
    program = _AGENT.format(python=shlex.quote(sys.executable))
    disk.write_new(demo.agent, program.encode(), mode=0o755)
    for name, text in FILES.items():
        path = demo.repository / name
        path.parent.mkdir(exist_ok=True)
        disk.write_new(path, text.encode(), mode=0o644)
    git = Git(demo.repository, demo.environment("", inherited))
    await git.run("init", "--quiet", "--initial-branch=main")
    await git.run("add", "--all")
    await git.run(*_IDENTITY, "commit", "--quiet", "--message", "A till, with tests that fail")
    return demo


def remove(folder: Path) -> None:
    """Remove the folder of a demo."""
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise DiskError(f"cannot remove {folder}: {error.strerror}", remedy="Remove it yourself.") from error
