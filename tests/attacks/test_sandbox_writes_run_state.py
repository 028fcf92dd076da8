"""Attack: an agent writes a result into the journal of its own run.

In the sandbox `.a5c` and `.ralph` are read-only, and so are their names.
"""

from __future__ import annotations

from pathlib import Path

from tests.attacks.fixtures.sandboxed import make_target


def test_the_state_of_runs_is_read_only(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    for name in (".a5c/runs", ".ralph"):
        assert target.attack(f"echo forged > {name}/entry.json").exit_code != 0
        assert not (target.work / name / "entry.json").exists()
    assert target.attack("mv .a5c .gone").exit_code != 0
    assert target.attack("rm -rf .a5c").exit_code != 0
    assert (target.work / ".a5c" / "runs").is_dir()
    assert target.attack("echo honest > work.txt").exit_code == 0
    assert (target.work / "work.txt").read_text() == "honest\n"
