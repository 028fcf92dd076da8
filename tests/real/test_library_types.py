"""What programs import from Bridle, in pyright: the types are known, and what is wrong is found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.typed_library import TYPED, WRONG
from tests.real.fixtures.installed_programs import pyright_program

pytestmark = pytest.mark.real

# It reads the types of all that is imported; a busy machine takes a minute.
LIMIT_SECONDS = 300.0


def faults(folder: Path, code: str) -> list[dict[str, Any]]:
    (folder / "program.py").write_text(code)
    command = [str(pyright_program()), "--outputjson", "--pythonpath", sys.executable, "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return [fault for fault in found if fault["severity"] == "error"]


def test_pyright_knows_the_types(tmp_path: Path) -> None:
    assert faults(tmp_path, TYPED) == []
    rules = [fault["rule"] for fault in faults(tmp_path, WRONG)]
    assert rules == ["reportArgumentType", "reportAttributeAccessIssue"]
