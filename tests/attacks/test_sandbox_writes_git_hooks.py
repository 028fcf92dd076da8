"""Attack: an agent adds a hook that the user's next commit runs.

In the sandbox `.git/hooks` and `.git/info` are read-only.

With the sandbox: impossible; the folders are read-only.
Without: restored after the iteration.
Reported: in the receipt, under `reported`.
"""

from __future__ import annotations

from pathlib import Path

from bridle.run.isolation.sandbox_rules import OFF
from tests.attacks.fixtures.sandboxed import make_target


def test_no_hook_is_added(tmp_path: Path, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    assert target.works("echo 'touch owned' > .git/hooks/pre-commit") == (sandbox == OFF)
    assert target.works("echo '* filter=evil' > .git/info/attributes") == (sandbox == OFF)
    assert (target.work / ".git" / "hooks" / "pre-commit").exists() == (sandbox == OFF)
