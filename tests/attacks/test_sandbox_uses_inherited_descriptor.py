"""Attack: an agent reads a hidden file through a folder that Bridle has open.

In the sandbox it has its three standard descriptors and nothing else.

With the sandbox: impossible; none is inherited.
Without: no descriptor is inherited; the file itself can be read.
Reported: only by the head of the run and `isolation`.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.attacks.fixtures.sandboxed import SECRET, make_target


def test_no_descriptor_is_inherited(tmp_path: Path, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    opened = os.open(target.home / ".ssh", os.O_RDONLY)
    os.set_inheritable(opened, True)
    try:
        captured = target.attack(f"cat /proc/self/fd/{opened}/id_ed25519; ls /proc/self/fd")
    finally:
        os.close(opened)
    assert SECRET.encode() not in captured.stdout
    assert captured.stdout.split() == [b"0", b"1", b"2", b"3"]  # the last one is of ls
