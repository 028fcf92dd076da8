"""An agent that prints without end does not fill the memory of the driver."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.fixtures.bridle_program import BRIDLE
from tests.loop.fixtures.fake_agent import make_project
from tests.sizes import SIZES

PLAN = "# T\n\n## One\nCheck: `test -f one`\n"
MEGABYTE = 1_000_000
# Of a message of a megabyte some copies exist at a time.
ROOM_KILOBYTES = 25_000
AGENT = """
open("one", "w").close()
for number in range({count}):
    text = {{"type": "text", "text": str(number) + "x" * {size}}}
    message = {{"id": f"m{{number}}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
                "content": [text], "stop_reason": None, "usage": {{"input_tokens": 1, "output_tokens": 1}}}}
    show(type="assistant", message=message)
"""
# The largest of the processes that it has started and waited for.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=sys.stderr).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_kilobytes(folder: Path, count: int) -> int:
    here = make_project(folder, PLAN, AGENT.format(count=count, size=MEGABYTE))
    run = [str(BRIDLE), "run", "PLAN.md", "--no-baseline", "--sandbox", "off"]
    done = here.execute([sys.executable, "-c", MEASURE, *run])
    code, peak = done.stdout.split()
    assert code == "0", done.stderr
    return int(peak)


def test_the_memory_of_a_run_does_not_grow_with_what_its_agent_prints(tmp_path: Path) -> None:
    quiet = peak_kilobytes(tmp_path / "quiet", 1)
    loud = peak_kilobytes(tmp_path / "loud", 2 * SIZES.loud_child_bytes // MEGABYTE)
    assert loud - quiet < ROOM_KILOBYTES
