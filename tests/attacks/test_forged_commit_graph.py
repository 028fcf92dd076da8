"""Attack: an agent writes a commit-graph in which the user's commit has another tree; git believes it.

Then `git diff` with that commit does not show what the agent has added. Git makes such files again, so those that were
written during an iteration are removed before git runs: commit-graph, its chains and multi-pack-index.

With the sandbox: the same; `.git/objects` is writable in it.
Without: removed before git runs again.
Reported: in the receipt, by name.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from bridle.loop.protection.git_files import git_metadata
from tests.attacks.fixtures.sandboxed import git, make_target


def forge(work: Path) -> None:
    (work / "evil.sh").write_text("evil\n")
    git(work, "add", "evil.sh")
    trees = [bytes.fromhex(git(work, *words)) for words in (("rev-parse", "main^{tree}"), ("write-tree",))]
    git(work, "commit-graph", "write", "--reachable")
    path = work / ".git/objects/info/commit-graph"
    data = path.read_bytes()[:-20].replace(trees[0], trees[1])
    path.unlink()
    path.write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())


def test_it_is_removed(tmp_path: Path) -> None:
    work = make_target(tmp_path).work
    git(work, "gc", "-q")
    users = work / ".git/objects/info/commit-graph"
    git(work, "multi-pack-index", "write")
    with git_metadata.agent_at_work(work) as baseline:
        assert baseline.restore_links() == []
        assert users.is_file()
        forge(work)
        assert git(work, "diff", "--cached", "--name-only", "main") == ""  # git believes it
        assert [report.path for report in baseline.restore_links()] == [".git/objects/info/commit-graph"]
    assert git(work, "diff", "--cached", "--name-only", "main") == "evil.sh"
    assert (work / ".git/objects/pack/multi-pack-index").is_file()
