"""Attack: an agent reads keys from the keyring of the user's session, which no namespace of the kernel separates.

In the sandbox the system calls for keyrings fail, as in a kernel without them; others work.

With the sandbox: the system calls fail.
Without: it reads what you can.
Reported: only by the head of the run and `isolation`.
"""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

from bridle.run.isolation.sandbox_rules import OFF
from tests.attacks.fixtures.sandboxed import make_target

# KEYCTL_GET_KEYRING_ID of the session's keyring, which is made where there is none.
_PROGRAM = """
import ctypes, os
number = {"x86_64": 250, "aarch64": 219, "riscv64": 219}[os.uname().machine]
libc = ctypes.CDLL(None, use_errno=True)
found = [libc.syscall(number + bit, 0, -3, 1) for bit in ((0, 0x40000000) if number == 250 else (0,))]
print(max(found) > 0, ctypes.get_errno(), os.getpid() > 0)
"""


def test_keyrings_answer_only_without_the_sandbox(tmp_path: Path, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    (target.work / "attack.py").write_text(_PROGRAM)
    answers, error, is_running = target.attack("python3 attack.py").stdout.decode().split()
    assert is_running == "True"
    if sandbox == OFF:  # as far as this kernel has keyrings
        assert (answers == "True") == _has_keyrings()
    else:
        assert (answers, error) == ("False", str(errno.ENOSYS))


def _has_keyrings() -> bool:
    printed = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    return printed.stdout.startswith("True")
