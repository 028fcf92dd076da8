"""Attack: an agent adds a hook that the user's next commit runs.

In the sandbox `.git/hooks` and `.git/info` are read-only.
"""

from __future__ import annotations

from pathlib import Path

from tests.attacks.fixtures.sandboxed import make_target


def test_no_hook_is_added(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    assert target.attack("echo 'touch owned' > .git/hooks/pre-commit").exit_code != 0
    assert target.attack("echo '* filter=evil' > .git/info/attributes").exit_code != 0
    assert not (target.work / ".git" / "hooks" / "pre-commit").exists()
