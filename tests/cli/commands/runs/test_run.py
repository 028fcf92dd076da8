"""The options of `bridle run` that need one another. What runs do is in tests/loop."""

from __future__ import annotations

from pathlib import Path

from tests.fixtures.bridle_program import run_bridle


def test_a_draft_without_a_pull_request_is_refused_before_anything_starts(tmp_path: Path) -> None:
    done = run_bridle("run", "PLAN.md", "--draft", cwd=tmp_path)
    assert done.returncode == 2
    assert "--draft needs --pr" in done.stderr
    assert list(tmp_path.iterdir()) == []
