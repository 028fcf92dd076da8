"""Attack: an agent adds `core.fsmonitor` or an alias to `.git/config`, which git runs outside of the sandbox later.

In the sandbox the file is read-only, cannot be replaced, and git says so; a commit still works.

With the sandbox: impossible; the file is read-only.
Without: restored after the iteration.
Reported: in the receipt, under `reported`.
"""

from __future__ import annotations

from pathlib import Path

from bridle.run.isolation.sandbox_rules import OFF
from tests.attacks.fixtures.sandboxed import git, make_target


def test_the_settings_of_git_stay_as_they_are(tmp_path: Path, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    before = (target.work / ".git" / "config").read_bytes()
    for script in (
        "git config core.fsmonitor 'touch /tmp/owned'",
        "echo '[core] fsmonitor = x' >> .git/config",
        "cp .git/config c && mv c .git/config",
        "cp .git/config c && rm -f .git/config && mv c .git/config",
    ):
        assert target.works(script) == (sandbox == OFF), script
    assert ((target.work / ".git" / "config").read_bytes() == before) == (sandbox != OFF)
    if sandbox == OFF:
        return
    assert target.works("git commit -q --allow-empty -m work")
    assert git(target.work, "log", "-1", "--format=%s") == "work"
