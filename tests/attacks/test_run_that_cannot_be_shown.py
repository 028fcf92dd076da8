"""Attack: a repository brings a run whose names and titles no JSON can contain, so that the page shows no run at all.

The folder of the run has a name that is not UTF-8, and its plan a title with half a character.

With the sandbox: the same; Bridle reads what the repository has.
Without: the run is shown with replaced characters, beside all others.
Reported: nothing to report.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, run_folder, run_plan
from tests.views.web.fixtures.watch_server import watching_project


def test_the_other_runs_are_shown(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    run_plan(here, 0)
    known = run_folder(here)
    with watching_project(here) as server, server.stream("run=-", last="e30") as stream:
        shutil.copytree(known, known.parent / "bad\udcff")
        half = known.parent / "half"
        shutil.copytree(known, half)
        (half / "inputs.json").write_text((half / "inputs.json").read_text().replace('"One"', json.dumps("\ud83d")))
        seen: set[str] = set()
        while len(seen) < 3:
            seen |= {card["run"] for card in stream.until("board")["runs"]}
        assert seen == {known.name, "half", "bad\ufffd"}
        assert {card["run"] for card in server.get("/api/board")["runs"]} == seen
        nested = b"[" * 30_000 + b"]" * 30_000
        headers = {"Origin": server.origin, "Content-Type": "application/json"}
        assert server.request("POST", "/api/actions", headers=headers, body=nested).status == 400
