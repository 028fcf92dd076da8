"""What Claude Code starts for a hook. `bridle plugin install` wrote it, with the place of Bridle in it.

It runs without `site`, which takes longer than the hook itself. Whatever goes wrong here, the session may end.
"""

import os
import sys

PACKAGE = "@PACKAGE@"
PLUGIN = "@PLUGIN@"
GONE = "@GONE@"


def run(hook_type: str) -> None:
    """Answer one hook; the payload is on standard input."""
    sys.path.append(PACKAGE)
    # The session's shell finds `bridle` here, and so do we when we tell an agent what to call.
    os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}{PLUGIN}/bin"
    try:
        from bridle.hosts.hooks.entry_point import start
    except Exception as error:  # noqa: BLE001  # whatever is wrong with what is left of it
        return approve(f"{GONE} ({type(error).__name__}: {error})")
    try:
        start(["--hook-type", hook_type, "--harness", "claude-code", "--plugin-root", PLUGIN, "--json"])
    except Exception as error:  # noqa: BLE001  # the edge: a defect of ours must not hold somebody's session
        approve(f"Bridle's hook failed, so this session is not held: {type(error).__name__}: {error}")


def approve(why: str) -> None:
    """Let the session go, and tell the person at it."""
    import json

    sys.stdout.write(json.dumps({"systemMessage": why}) + "\n")
    sys.stderr.write(f"bridle: {why}\n")


if __name__ == "__main__":
    run(sys.argv[1])
