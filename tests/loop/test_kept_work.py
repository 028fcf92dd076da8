"""Work that is taken back is kept each time, under a name of its own."""

from __future__ import annotations

from pathlib import Path

from tests.loop.loops import loop
from tests.loop.test_run import agrees, run, verdicts

PLAN = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"


def test_work_that_broke_another_task_and_work_that_failed_in_the_end_are_both_kept(tmp_path: Path) -> None:
    agent = """
    if task == "One": open("one", "w").close()
    elif number == 2: os.rename("one", "broken")
    else: open(f"wrong{number}", "w").close()
    """
    here = loop(tmp_path, PLAN, agent)
    document = run(here, 1, "--tries", "2")
    assert verdicts(document) == {"One": "done", "Two": "failed"}
    refs = here.git("for-each-ref", "--format=%(refname)", "refs/bridle/snapshots/").splitlines()
    kept = [set(here.git("ls-tree", "--name-only", ref).split()) for ref in refs if "-undone" in ref]
    assert any("broken" in names for names in kept)
    assert any("wrong3" in names for names in kept)
    assert sorted(path.name for path in here.folder.glob("[!.]*")) == ["PLAN.md", "one"]
    agrees(here)
