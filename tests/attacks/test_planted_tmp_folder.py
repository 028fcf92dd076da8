"""Attack: another local user plants the folder in /tmp where Bridle will write.

The attacker wants to read the output of commands, or to have files written where a link leads. The folder is refused
by name: it may be no link, and must belong to the user and be writable by nobody else.

With the sandbox: the same; another user of the machine does it.
Without: refused.
Reported: by an error that names the folder.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.agent.tools.shell.output_spool import OutputSpool
from bridle.errors import DiskError
from bridle.ground import disk

ANOTHER_USER = 65534


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """Return a folder like /tmp."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    return shared


def spill(folder: Path) -> str | None:
    """Write an output below a folder, and return the fault."""
    spool = OutputSpool(folder / "session" / "tasks" / "x.output", hold_characters=1, tail_characters=1, keep_bytes=100)
    spool.add(b"private output")
    spool.close()
    return spool.fault


def test_a_planted_link_is_refused(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "attacker").mkdir()
    (shared / "bridle-agent-1").symlink_to(tmp_path / "attacker")
    assert f"{shared / 'bridle-agent-1'} cannot be used: it is a symbolic link" in (
        spill(shared / "bridle-agent-1") or ""
    )
    assert list((tmp_path / "attacker").iterdir()) == []


def test_a_folder_of_another_user_is_refused(shared: Path) -> None:
    planted = shared / "bridle-agent-1"
    planted.mkdir()
    if os.geteuid() == 0:
        os.chown(planted, ANOTHER_USER, ANOTHER_USER)
    else:
        planted.chmod(0o777)
    assert f"{planted} cannot be used: it " in (spill(planted) or "")
    assert list(planted.iterdir()) == []


def test_a_folder_that_others_may_write_to_is_refused(shared: Path) -> None:
    (shared / "bridle-agent-1").mkdir()
    (shared / "bridle-agent-1").chmod(0o777)
    with pytest.raises(DiskError, match="can be written by other users"):
        disk.make_own_folder(shared / "bridle-agent-1" / "session")


def test_a_new_folder_is_private(shared: Path) -> None:
    assert spill(shared / "bridle-agent-1") is None
    assert (shared / "bridle-agent-1").stat().st_mode & 0o777 == 0o700
    assert spill(shared / "bridle-agent-2") is None
