"""Attack: an agent moves `.git` away and makes another one in which nothing is protected.

In the sandbox the folder is a mount of its own: it cannot be renamed.

With the sandbox: impossible.
Without: possible.
Reported: only by the head of the run and `isolation`.
"""

from __future__ import annotations

from pathlib import Path

from bridle.run.isolation.sandbox_rules import OFF
from tests.attacks.fixtures.sandboxed import make_target


def test_the_git_folder_cannot_be_renamed(tmp_path: Path, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    attack = "mv .git .gone && mkdir .git && cp -r .gone/* .git && echo evil >> .git/config"
    assert target.works(attack) == (sandbox == OFF)
    assert ("evil" in (target.work / ".git" / "config").read_text()) == (sandbox == OFF)
