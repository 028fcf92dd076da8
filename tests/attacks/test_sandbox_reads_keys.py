"""Attack: an agent reads `~/.ssh`, `~/.netrc` and the user's Bridle folder.

In the sandbox folders are empty and locked, and files are empty; a link to them leads to the same.
"""

from __future__ import annotations

from pathlib import Path

from tests.attacks.fixtures.sandboxed import SECRET, make_target


def test_keys_cannot_be_read(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    (target.work / "link").symlink_to(target.home / ".ssh")
    script = (
        "cat ~/.ssh/* ~/.netrc ~/.bridle/* link/*; grep -r secret ~ 2>&1; find ~ -name id_ed25519 2>/dev/null; true"
    )
    captured = target.attack(script)
    assert captured.exit_code == 0
    assert SECRET.encode() not in captured.stdout + captured.stderr
    assert b"id_ed25519" not in captured.stdout
