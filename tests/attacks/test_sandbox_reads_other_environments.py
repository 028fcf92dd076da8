"""Attack: an agent reads the variables of Bridle and of the sandbox program in `/proc`.

In the sandbox only its own processes are in `/proc`, and the sandbox program was started without secrets.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.attacks.fixtures.sandboxed import SECRET, make_target


def test_no_secret_is_in_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    target = make_target(tmp_path)
    captured = target.attack("cat /proc/*/environ /proc/*/cmdline; ls -d /proc/[0-9]*; true")
    assert captured.exit_code == 0
    assert SECRET.encode() not in captured.stdout
    assert f"/proc/{os.getpid()}\n".encode() not in captured.stdout
