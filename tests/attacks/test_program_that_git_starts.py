"""Attack: an agent edits a file of the repository that the user's git configuration names: a filter, an include.

`filter.x.clean = tools/clean.sh`, `.venv/bin/strip`, or `[include] path = ../.gitconfig`: Bridle's own git would run
what the agent wrote, outside of the sandbox, and so would the user's. They are recorded before the agent, and restored
before git starts again, after a check too, whatever the plan allows.

With the sandbox: impossible for a file that exists: it is read-only, with its folders and its virtual environment.
Without: restored before git runs.
Reported: in the receipt, under `reported`.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from bridle.loop.protection import programs_outside
from bridle.run.isolation.sandbox_rules import OFF
from tests.loop.fixtures.repositories import make_repository

FILTER = "#!/bin/sh\ncat\n"
NAMED = {"tools/clean.sh", ".venv/bin/strip", ".gitconfig"}
EDIT = "for f in tools/clean.sh .venv/bin/strip; do echo evil >> $f; done; true"
MOVE = "mv tools other && mkdir tools && cp other/clean.sh tools/ && echo evil >> tools/clean.sh; true"
OTHERS = "echo evil >> .venv/lib/strip.py; echo '[core]' > .gitconfig; true"


def test_it_is_not_run_as_the_agent_left_it(tmp_path: Path, sandbox: str) -> None:
    files: dict[str, str | bytes] = {".gitignore": ".venv/\n", "tools/clean.sh": FILTER, "a.nb": "1\n"}
    here = make_repository(tmp_path / "r", files, checks=("true",), sandbox=sandbox)
    here.write({".venv/bin/strip": FILTER, ".venv/pyvenv.cfg": "", ".venv/lib/strip.py": ""})
    for name in ("tools/clean.sh", ".venv/bin/strip"):
        (here.folder / name).chmod(0o755)
    here.git("config", "filter.nb.clean", "tools/clean.sh %f")
    here.git("config", "filter.strip.clean", f"{here.folder}/.venv/bin/strip")
    here.git("config", "filter.other.clean", "sh a.nb 'not closed")
    here.git("config", "include.path", "../.gitconfig")
    here.start()
    asyncio.run(programs_outside.record(here.context, "before"))
    assert {*here.context.git.named_files} >= NAMED

    for attack in (EDIT, MOVE, OTHERS):
        assert here.check(attack)["passed"]
        assert here.read("tools/clean.sh") == here.read(".venv/bin/strip") == FILTER, attack
        assert not (here.folder / ".gitconfig").exists()
    assert (here.read(".venv/lib/strip.py") == "") == (sandbox != OFF)

    for name in NAMED:
        here.write({name: "evil\n"})
    reports = programs_outside.restore(here.context, "before")
    assert {report.path for report in reports} == NAMED
    assert here.read("tools/clean.sh") == here.read(".venv/bin/strip") == FILTER
    assert not (here.folder / ".gitconfig").exists()
    assert programs_outside.restore(here.context, "before") == []
