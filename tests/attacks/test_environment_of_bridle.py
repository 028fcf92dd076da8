"""Attack: Bridle is installed in the project's `.venv`, and an agent adds a `.pth` file or edits Bridle's own modules.

Python would run it at the next `bridle status`, outside of the sandbox.

With the sandbox: impossible; the environment that Bridle runs from is read-only.
Without: restored after the iteration.
Reported: in the receipt, under `reported`.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from bridle.loop.protection import programs_outside
from bridle.run.isolation.sandbox_rules import OFF
from tests.loop.fixtures.repositories import make_repository

PACKAGES = ".venv/lib/python3/site-packages"
ATTACK = f"echo 'import os' > {PACKAGES}/evil.pth; echo evil >> {PACKAGES}/bridle/a.py; true"


def test_nothing_is_added_to_it(tmp_path: Path, sandbox: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = make_repository(tmp_path / "r", {".gitignore": ".venv/\n"}, checks=("true",), sandbox=sandbox)
    packages = here.folder / PACKAGES
    here.write({f"{PACKAGES}/bridle/a.py": "1\n", ".venv/pyvenv.cfg": ""})
    here.start()
    monkeypatch.setattr(sys, "prefix", str(here.folder / ".venv"))
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    asyncio.run(programs_outside.record(here.context, "before"))
    here.check(ATTACK)
    assert (packages / "evil.pth").exists() == (sandbox == OFF)
    reports = {report.path for report in programs_outside.restore(here.context, "before")}
    assert reports == ({f"{PACKAGES}/evil.pth", f"{PACKAGES}/bridle/a.py"} if sandbox == OFF else set())
    assert not (packages / "evil.pth").exists()
    assert (packages / "bridle/a.py").read_text() == "1\n"
