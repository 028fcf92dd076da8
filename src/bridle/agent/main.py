"""The entry point of `bridle-agent`. It must start in milliseconds; everything else is in program.py."""

from __future__ import annotations

import sys

from bridle.agent.version import version


def main(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    if arguments in (["--version"], ["-v"]):  # some clients ask before each run
        sys.stdout.write(version() + "\n")
        return 0
    from bridle.agent.program import run

    return run(arguments)
