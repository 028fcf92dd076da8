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
    try:
        from bridle.hosts.hook import start
    except ImportError as error:
        return approve(f"{GONE} ({error})")
    try:
        prepare(f"{PLUGIN}/bin", hook_type)
        start(["--hook-type", hook_type, "--harness", "claude-code", "--plugin-root", PLUGIN, "--json"])
    except Exception as error:  # noqa: BLE001  # the edge: a defect of ours must not hold somebody's session
        approve(f"Bridle's hook failed, so this session is not held: {type(error).__name__}: {error}")


def prepare(folder: str, hook_type: str) -> None:
    """The session's shell finds `bridle` here, and so do we when we tell an agent what to call."""
    known = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = f"{known}{os.pathsep}{folder}"
    if hook_type == "session-start" and os.environ.get("CLAUDE_ENV_FILE"):
        from bridle.hosts.shell_path import export

        export(folder, os.environ["CLAUDE_ENV_FILE"])


def approve(why: str) -> None:
    """Let the session go, and tell the person at it."""
    import json

    sys.stdout.write(json.dumps({"systemMessage": why}) + "\n")
    sys.stderr.write(f"bridle: {why}\n")


if __name__ == "__main__":
    run(sys.argv[1])
