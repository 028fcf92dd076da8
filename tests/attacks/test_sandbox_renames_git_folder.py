"""Attack: an agent moves `.git` away and makes another one in which nothing is protected.

In the sandbox the folder is a mount of its own: it cannot be renamed.
"""

from __future__ import annotations

from pathlib import Path

from tests.attacks.fixtures.sandboxed import make_target


def test_the_git_folder_cannot_be_renamed(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    attack = "mv .git .gone && mkdir .git && cp -r .gone/* .git && echo evil >> .git/config"
    assert target.attack(attack).exit_code != 0
    assert "evil" not in (target.work / ".git" / "config").read_text()
