"""Attack: an agent reads the variables of Bridle and of the sandbox program in `/proc`.

In the sandbox only its own processes are in `/proc`, and the sandbox program was started without secrets.

With the sandbox: impossible; it sees only its own processes.
Without: possible.
Reported: only by the head of the run and `isolation`.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bridle.run.isolation.sandbox_rules import OFF
from tests.attacks.fixtures.sandboxed import SECRET, make_target


def test_no_secret_is_in_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    target = make_target(tmp_path, sandbox)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as other:  # it ends with its input
        script = f"cat /proc/*/environ /proc/*/cmdline | grep -a SOME_API_KEY; ls -d /proc/{other.pid}; true"
        captured = target.attack(script)
    assert captured.exit_code == 0
    assert (SECRET.encode() in captured.stdout) == (sandbox == OFF)
    assert (f"/proc/{other.pid}\n".encode() in captured.stdout) == (sandbox == OFF)
    if sandbox != OFF:
        assert f"/proc/{os.getpid()}\n".encode() not in target.attack("ls -d /proc/[0-9]*").stdout
