"""Attack: an agent adds `core.fsmonitor` or an alias to `.git/config`, which git runs outside of the sandbox later.

In the sandbox the file is read-only, cannot be replaced, and git says so; a commit still works.
"""

from __future__ import annotations

from pathlib import Path

from tests.attacks.fixtures.sandboxed import git, make_target


def test_the_settings_of_git_stay_as_they_are(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    before = (target.work / ".git" / "config").read_bytes()
    for script in (
        "git config core.fsmonitor 'touch /tmp/owned'",
        "echo '[core] fsmonitor = x' >> .git/config",
        "cp .git/config c && mv c .git/config",
        "rm -f .git/config",
    ):
        assert target.attack(script).exit_code != 0, script
    assert (target.work / ".git" / "config").read_bytes() == before
    assert target.attack("git commit -q --allow-empty -m work").exit_code == 0
    assert git(target.work, "log", "-1", "--format=%s") == "work"
