"""Attack: an agent reads `~/.ssh`, `~/.netrc` and the user's Bridle folder.

In the sandbox folders are empty and locked, and files are empty; a link to them leads to the same.

With the sandbox: impossible; they are hidden.
Without: possible.
Reported: only by the head of the run and `isolation`.
"""

from __future__ import annotations

from pathlib import Path

from bridle.run.isolation.sandbox_rules import OFF
from tests.attacks.fixtures.sandboxed import SECRET, make_target


def test_keys_cannot_be_read(tmp_path: Path, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    (target.work / "link").symlink_to(target.home / ".ssh")
    script = (
        "cat ~/.ssh/* ~/.netrc ~/.bridle/* link/*; grep -r secret ~ 2>&1; find ~ -name id_ed25519 2>/dev/null; true"
    )
    captured = target.attack(script)
    assert captured.exit_code == 0
    assert (SECRET.encode() in captured.stdout + captured.stderr) == (sandbox == OFF)
    assert (b"id_ed25519" in captured.stdout) == (sandbox == OFF)
