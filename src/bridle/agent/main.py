"""The program `bridle-agent`. Here is only what must start in milliseconds; the rest is in program.py."""

from __future__ import annotations

import sys

from bridle.agent.version import version


def main(arguments: list[str]) -> int:
    """Run one command line and give its exit code."""
    if arguments in (["--version"], ["-v"]):  # programs ask before each run
        sys.stdout.write(version() + "\n")
        return 0
    from bridle.agent.program import run

    return run(arguments)
