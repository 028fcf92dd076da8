"""Sub-agents in git worktrees of their own, from outside."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.agent.fixtures.raw_host import calls, raw_host, says

FLAGS = ("--allowedTools", "Agent,Grep,Glob", "--disallowedTools", "Read(config/secret.txt)")


def make_repository(folder: Path) -> None:
    (folder / "config").mkdir(parents=True)
    (folder / "config/secret.txt").write_text("needle hidden\n")
    (folder / "config/open.txt").write_text("needle shown\n")
    for words in ("init -q", "add -A", "-c user.name=a -c user.email=a@b.c commit -qm one"):
        subprocess.run(["git", *words.split()], cwd=folder, check=True, timeout=60)


def test_a_search_in_a_worktree_shows_no_file_that_a_rule_of_the_working_copy_denies(tmp_path: Path) -> None:
    make_repository(tmp_path / "workspace")
    answers = (
        calls(("Agent", {"description": "d", "prompt": "SEARCH", "isolation": "worktree"})),
        calls(("Grep", {"pattern": "needle", "output_mode": "content"}), ("Glob", {"pattern": "**/*.txt"})),
        says("Searched."),
        says("Done."),
    )
    with raw_host(tmp_path, *answers, flags=FLAGS) as host:
        host.prompt("go")
        host.result()
        found = json.dumps(host.bodies()[2]["messages"][-1])
        assert host.end() == 0
    assert "open.txt" in found
    assert "secret" not in found
    assert "hidden" not in found
