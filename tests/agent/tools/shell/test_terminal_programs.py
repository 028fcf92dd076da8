"""Programs that wait for keys of a terminal end; those that wait for anything else run on."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from bridle.agent.tools.shell.terminal_programs import hang_up

# As vi does at the end of an empty input: it reads from its standard error.
EDITOR = "import os, select; os.dup2(2, 0); os.write(1, b'x'); select.select([0], [], [])"
READER = "import os; os.write(1, b'x'); os.read(0, 1)"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


def _started(program: str, stdin: int) -> subprocess.Popen[bytes]:
    """Start a shell with the program as its child, which has begun."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", f'"{sys.executable}" -c "{program}"; echo rc=$?'],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    assert process.stdout.read(1) == b"x"
    return process


def test_a_program_that_reads_its_output_ends_and_its_shell_continues() -> None:
    with _started(EDITOR, subprocess.DEVNULL) as process:
        hang_up(process.pid)
        assert process.stdout is not None
        assert f"rc={128 + signal.SIGHUP}".encode() in process.stdout.read()


def test_a_program_that_waits_for_its_input_runs_on() -> None:
    with _started(READER, subprocess.PIPE) as process:
        hang_up(process.pid)
        assert process.poll() is None
        out, _ = process.communicate(b"y")
        assert out == b"rc=0\n"


def test_a_process_that_is_gone_is_nothing() -> None:
    with _started("import os; os.write(1, b'x')", subprocess.DEVNULL) as process:
        process.communicate()
        hang_up(process.pid)
