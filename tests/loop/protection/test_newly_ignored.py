"""What a changed .gitignore hides is reported, and what its earlier text hid is not."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bridle.loop.protection.newly_ignored import newly_ignored_files
from tests.loop.fixtures.repositories import make_repository


def test_only_files_that_the_earlier_rules_did_not_hide_are_reported(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {".gitignore": "local.cfg\nreal.py\n"}, untracked={"local.cfg": "x = 1\n"})
    assert asyncio.run(newly_ignored_files(here.context, {".gitignore": "local.cfg\n"})) == []
    here.write({"real.py": "x = 1\n"})
    (report,) = asyncio.run(newly_ignored_files(here.context, {".gitignore": "local.cfg\n"}))
    assert (report.path, report.what.partition(":")[0]) == (".gitignore", "it now hides real.py")
