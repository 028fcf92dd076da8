"""Attack: an agent commits files so that the diff on the page of `bridle watch` hides or misplaces what it changed.

It turns a file into a link, of which git prints two parts, so that the lines of each next file would be shown under
another name. It writes the first line of a key into one file, so that all up to the last line of a key in another would
be masked. It calls a text binary by an attribute, so that git shows no line of it.

With the sandbox: the same; the working copy is writable.
Without: each file is shown with its own lines; those that are masked are counted.
Reported: in the diff of the commit.
"""

from __future__ import annotations

import os
from pathlib import Path

from bridle.views.run_data.commits import commit_diff
from bridle.wire.mask import Mask
from tests.workspace.fixtures.repositories import git

EVIL = "run('evil')"


def test_each_file_is_shown_with_its_own_lines(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a").write_text("one\n")
    _commit(tmp_path)
    (tmp_path / "a").unlink()
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").write_text("harmless\n-----BEGIN OLD PRIVATE KEY-----\nhidden\n")
    (tmp_path / "c.py").write_text(f"{EVIL}\n")
    (tmp_path / "d").write_text("-----END OLD PRIVATE KEY-----\nafter\n")
    (tmp_path / "e").write_bytes(b"\0binary\n")
    (tmp_path / ".gitattributes").write_text("*.py -diff\n*.[ab] binary\n")
    found = commit_diff(tmp_path, _commit(tmp_path), os.environ, Mask())
    assert found is not None
    shown = {
        file["path"]: [f"{line[0]}{line[3]}" for hunk in file["hunks"] for line in hunk["lines"]]
        for file in found["files"]
    }
    assert shown == {
        ".gitattributes": ["+*.py -diff", "+*.[ab] binary"],
        "a": ["-one", "+b"],
        "b": ["+harmless", "+***"],
        "c.py": [f"+{EVIL}"],
        "d": ["+-----END OLD PRIVATE KEY-----", "+after"],
        "e": [],
    }
    assert {file["path"]: file["omitted"] for file in found["files"] if file["omitted"]} == {"b": 2}
    assert [file["path"] for file in found["files"] if file["is_binary"]] == ["e"]


def _commit(folder: Path) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "work")
    return git(folder, "rev-parse", "HEAD").strip()
