"""Real repositories for the tests: made by the program git in a temporary folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bridle.workspace.git import Git


def git(folder: Path, *words: str) -> str:
    """Run git and give back what it printed."""
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=60,
    )
    return done.stdout.decode()


def repository(folder: Path) -> Git:
    """A repository with one commit of two files and a rule about ignored ones."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, {"a.txt": "one\n", "sub/b.txt": "two\n", ".gitignore": "ignored/\n*.tmp\n"})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return Git(folder)


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def picture(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Every file of a working copy, with its kind and content; git's own folder left out."""
    found: dict[str, tuple[str, bytes]] = {}
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [
            *(name for name in names if name != ".git"),
            *(one for one in folders if (Path(root) / one).is_symlink()),
        ]:
            path = Path(root) / name
            if path.is_symlink():
                found[str(path.relative_to(folder))] = ("link", os.readlink(path).encode())
            else:
                kind = "program" if os.access(path, os.X_OK) and path.stat().st_mode & 0o111 else "file"
                found[str(path.relative_to(folder))] = (kind, path.read_bytes())
    return found


def index(folder: Path) -> str:
    """What is staged."""
    return git(folder, "ls-files", "--stage")
