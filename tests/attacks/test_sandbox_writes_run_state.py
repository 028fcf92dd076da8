"""Attack: an agent writes a result into the journal of its own run.

In the sandbox `.a5c` and `.ralph` are read-only, and so are their names.

With the sandbox: impossible; the folders are read-only.
Without: possible; a forged result does not count.
Reported: by the audit, and in the receipt, under `refused`.
"""

from __future__ import annotations

from pathlib import Path

from bridle.run.isolation.sandbox_rules import OFF
from tests.attacks.fixtures.sandboxed import make_target


def test_the_state_of_runs_is_read_only(tmp_path: Path, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    for name in (".a5c/runs", ".ralph"):
        assert target.works(f"echo forged > {name}/entry.json") == (sandbox == OFF)
        assert (target.work / name / "entry.json").exists() == (sandbox == OFF)
    assert target.works("mv .a5c .gone && mv .gone .a5c") == (sandbox == OFF)
    assert target.works("rm -rf .a5c") == (sandbox == OFF)
    assert (target.work / ".a5c" / "runs").is_dir() == (sandbox != OFF)
    assert target.works("echo honest > work.txt")
    assert (target.work / "work.txt").read_text() == "honest\n"
