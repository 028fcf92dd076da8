"""Attack: an agent as root names the program that the kernel runs, outside, when a process crashes.

In the sandbox `/proc/sys` is read-only, also for root.

With the sandbox: impossible.
Without: possible as root (not run: it would set this machine).
Reported: only by the head of the run and `isolation`.
"""

from __future__ import annotations

from pathlib import Path

from tests.attacks.fixtures.sandboxed import make_target


def test_the_kernel_is_not_set(tmp_path: Path) -> None:
    before = Path("/proc/sys/kernel/core_pattern").read_text()
    target = make_target(tmp_path)
    # The value that it has: without the protection the test fails, and this machine stays as it is.
    script = 'value=$(cat /proc/sys/kernel/core_pattern) && printf %s "$value" > /proc/sys/kernel/core_pattern'
    assert target.attack("cat /proc/sys/kernel/core_pattern").stdout.decode() == before
    assert target.attack(script).exit_code != 0
    assert Path("/proc/sys/kernel/core_pattern").read_text() == before
