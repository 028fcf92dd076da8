"""What a changed .gitignore hides is reported, and what its earlier text hid is not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bridle.loop.protection.newly_ignored import is_generated, newly_ignored_files
from tests.loop.fixtures.repositories import make_repository


def test_only_files_that_the_earlier_rules_did_not_hide_are_reported(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {".gitignore": "local.cfg\nreal.py\n"}, untracked={"local.cfg": "x = 1\n"})
    assert asyncio.run(newly_ignored_files(here.context, {".gitignore": "local.cfg\n"})) == []
    here.write({"real.py": "x = 1\n"})
    (report,) = asyncio.run(newly_ignored_files(here.context, {".gitignore": "local.cfg\n"}))
    assert (report.path, report.what.partition(":")[0]) == (".gitignore", "it now hides real.py")


FOLDERS = (
    "node_modules bower_components jspm_packages .yarn .pnpm-store .nyc_output venv .venv site-packages .eggs bin obj"
    " build dist out target _build deps vendor Pods .terraform .bundle .dart_tool elm-stuff .stack-work dist-newstyle"
    " .direnv .cargo .gradle .benchmarks .hypothesis"
)


@pytest.mark.parametrize("folder", FOLDERS.split())
def test_folders_of_dependencies_and_build_output_are_generated(folder: str) -> None:
    assert is_generated(f"{folder}/")
    assert is_generated(f"part/{folder}/deep/file.json")
    assert not is_generated(f"part/my{folder}s/file.json")
