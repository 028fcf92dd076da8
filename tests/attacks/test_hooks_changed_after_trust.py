"""Attack: an agent, or a pull, changes a hook of the repository after the user has agreed to it.

The attacker wants its code to run as the user. The agreement is for the content: a changed, new or removed hook, and
one that became executable, needs a new one.

With the sandbox: the same; Bridle decides it before a program starts.
Without: the hooks do not run before a new agreement.
Reported: on stderr.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.ground import trust


@pytest.fixture
def work(tmp_path: Path) -> Path:
    hook = tmp_path / "work" / ".a5c" / "hooks" / "on-run-start" / "a.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text("true")
    return tmp_path / "work"


@pytest.mark.parametrize("change", ["edit", "add", "remove", "mode", "link"])
def test_every_change_needs_a_new_agreement(work: Path, tmp_path: Path, change: str) -> None:
    trust.trust(work, tmp_path / "home")
    assert trust.is_trusted(work, tmp_path / "home")
    hook = work / ".a5c" / "hooks" / "on-run-start" / "a.sh"
    if change == "edit":
        hook.write_text("evil")
    elif change == "add":
        hook.with_name("b.sh").write_text("evil")
    elif change == "remove":
        hook.unlink()
    elif change == "mode":
        hook.chmod(0o755)
    else:
        hook.unlink()
        (tmp_path / "evil").write_text("evil")
        hook.symlink_to(tmp_path / "evil")
    assert not trust.is_trusted(work, tmp_path / "home")
    assert trust.has_changed(work, tmp_path / "home", trust.HOOKS)


def test_an_agreement_without_a_digest_does_not_count(work: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "trust.json").write_text(f'{{"repositories": {{"{work}": "2026-01-01T00:00:00Z"}}}}')
    assert not trust.is_trusted(work, tmp_path / "home")
