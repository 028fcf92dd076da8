"""Attack: code under test starts a daemon that forks twice, makes its own session and empties its environment.

The attacker wants a process that changes files after the check has passed. It ends with the check: in the sandbox with
its namespace, elsewhere by the supervisor of the check.

With the sandbox: ends with the check.
Without: ends with the check.
Reported: nothing to report.
"""

from __future__ import annotations

from pathlib import Path

from tests.attacks.fixtures.daemon import start_daemon
from tests.attacks.fixtures.sandboxed import make_target
from tests.real.fixtures.claude_on_stage import processes_with


def test_it_ends_with_the_check(tmp_path: Path, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    note = target.work / "pid"
    captured = target.attack(start_daemon(target.work, note))
    assert captured.exit_code == 0, captured.stderr
    assert note.exists(), "it was started"
    assert processes_with(str(note)) == []
