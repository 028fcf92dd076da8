"""Attack: an agent deletes the refs of Bridle's snapshots and lets git remove their objects.

The snapshots keep what `bridle` restores and what the receipt names. In the sandbox `refs/bridle` is read-only.

With the sandbox: impossible; the refs are read-only, and git keeps their objects.
Without: the ref of the iteration is restored if its objects are left.
Reported: in the receipt; also that its objects are gone.
"""

from __future__ import annotations

from pathlib import Path

from bridle.run.isolation.sandbox_rules import OFF
from tests.attacks.fixtures.sandboxed import git, make_target


def test_they_stay(tmp_path: Path, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    commit = git(target.work, "commit-tree", "-m", "snapshot", "HEAD^{tree}")
    git(target.work, "update-ref", "refs/bridle/snapshots/one", commit)
    assert target.works("git update-ref -d refs/bridle/snapshots/one") == (sandbox == OFF)
    target.attack("rm -rf .git/refs/bridle; git prune --expire=now")
    kept = git(target.work, "for-each-ref", "--format=%(objectname)", "refs/bridle")
    assert kept == ("" if sandbox == OFF else commit)
    assert target.works("git commit -q --allow-empty -m work && git tag t")
