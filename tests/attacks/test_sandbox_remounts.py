"""Attack: an agent, also as root, mounts its read-only folders writable or takes a hiding mount away.

In the sandbox it has no capability to do so, also not in a user namespace of its own.

With the sandbox: impossible.
Without: there is nothing to undo (not run).
Reported: only by the head of the run and `isolation`.
"""

from __future__ import annotations

from pathlib import Path

from tests.attacks.fixtures.sandboxed import SECRET, make_target


def test_mounts_cannot_be_undone(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    for script in (
        "mount -o remount,rw /",
        "mount -o remount,bind,rw /",
        "umount ~/.ssh",
        "unshare -Urm sh -c 'umount ~/.ssh && cat ~/.ssh/*'",
        "unshare -Urm sh -c 'mount -o remount,bind,rw / && echo x > /etc/owned-by-test'",
        "nsenter -t 1 -m true",
    ):
        captured = target.attack(script)
        assert captured.exit_code != 0, script
        assert SECRET.encode() not in captured.stdout
    assert not Path("/etc/owned-by-test").exists()
    capabilities = target.attack("grep Cap /proc/self/status").stdout.split()[1::2]
    assert len(capabilities) == 5
    assert {int(each, 16) for each in capabilities} == {0}, "also none that a program could get"
