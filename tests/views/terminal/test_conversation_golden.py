"""The plain picture of recordings, compared with files that a person has read.

BRIDLE_REWRITE=1 writes them anew; read the difference before you keep it.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from bridle.views.terminal.conversation import PlainView, display_options
from bridle.wire.mask import Mask
from tests.wire.fixtures.conversations import record_of, recorded

GOLDEN = Path(__file__).parent / "golden"
REWRITE = bool(os.environ.get("BRIDLE_REWRITE"))  # read here: tests themselves see no such variable
NAMES = (
    "02-tools-basic",
    "03-parallel-tools",
    "04-thinking",
    "05-permission-denied",
    "06-max-turns",
    "07-full-529",
    "08a-json-schema-ok",
    "11-partial",
    "12-subagent",
    "12b-subagent-parallel",
    "13a-bg-bash",
    "13b-bg-agent",
    "14-askuser",
    "18c-interrupt-bash",
    "18d-can-use-tool",
    "18e-askuser-stdio",
    "19b-include-hook-events",
    "23-tool-shapes",
    "25a-todowrite",
    "25b-compact",
)


@pytest.mark.parametrize("name", NAMES)
def test_the_output_is_the_golden_one(name: str) -> None:
    out = io.StringIO()
    look = display_options(is_terminal=False, width=None, terminal_width=0, full=False, thinking=True)
    PlainView(recorded(name), Mask(), look, out, record_of(name)).finish()
    path = GOLDEN / f"{name}.txt"
    if REWRITE:
        path.write_text(out.getvalue(), encoding="utf-8")
    assert out.getvalue() == path.read_text(encoding="utf-8")
