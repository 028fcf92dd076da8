"""Memory does not grow with the text that an agent prints; its log has every byte."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.fixtures.driven_runs import new_driven_run
from tests.fixtures.bridle_program import BRIDLE
from tests.run.fixtures.fake_agent import init, result, says

TEXT_BYTES = 80_000_000
# What the commands need without any text is about 30 MB; each copy of the text would need 80.
MEMORY_LIMIT_BYTES = 90_000_000

# Prints much text in many messages, and then ends well.
LOUD = """#!{python}
import os, sys
sys.stdin.readline()
def write(text):
    view = memoryview(text.encode())
    while view:
        view = view[os.write(1, view):]
write({init!r})
block = "".join({says!r}.replace("ID", str(number)) for number in range({together}))
for _ in range({times}):
    write(block)
write({result!r})
"""

# Starts a command from a small process, and prints the most memory that it had, which begins with that of its parent.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def loud_agent(path: Path) -> int:
    """Write the agent; return how many bytes it prints."""
    words = says("x" * 10_000, message_id="ID")
    together = 100
    times = TEXT_BYTES // (10_000 * together)
    program = LOUD.format(
        python=sys.executable, init=init(), says=words, together=together, times=times, result=result("the answer")
    )
    path.write_text(program)
    path.chmod(0o755)
    return TEXT_BYTES


@pytest.mark.parametrize("command", [["ask", "--json", "go"], ["ask", "go"], ["drive", "r1"]], ids=" ".join)
def test_much_text_of_an_agent_is_in_its_log_and_not_in_memory(tmp_path: Path, command: list[str]) -> None:
    source = 'async def process(inputs, ctx):\n    return await ctx.task(agent, {"prompt": "go"})\n'
    driven = new_driven_run(tmp_path, source)
    program = Path(driven.environment["BRIDLE_CLAUDE"])
    size = loud_agent(program)
    done = subprocess.run(
        [sys.executable, "-S", "-c", MEASURE, str(BRIDLE), *command],
        cwd=driven.folder,
        env=driven.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    output = done.stdout
    assert int(done.stderr.split()[-1]) * 1024 < MEMORY_LIMIT_BYTES
    (log,) = (driven.folder / ".ralph" / "logs" / "claude").glob("*.ndjson")
    assert log.stat().st_size > size
    if "--json" in command:
        document = json.loads(output)
        assert document["final_text"] == "the answer"
        assert "characters are left out here; the log has them" in document["output"]
        assert len(document["output"]) < size / 4
