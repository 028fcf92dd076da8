"""The program that Claude Code starts for a hook. `bridle plugin install` wrote it, with the path of Bridle in it.

It runs without `site`, whose import takes longer than the hook itself. A failure here never blocks a session.
"""

import os
import sys

PACKAGE = "@PACKAGE@"
PLUGIN = "@PLUGIN@"
GONE = "@GONE@"


def run(hook_type: str) -> None:
    """Answer one hook; the payload is on standard input."""
    sys.path.append(PACKAGE)
    # The session's shell finds `bridle` here, and so does the hook for the commands in its messages.
    os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}{PLUGIN}/bin"
    try:
        from bridle.hosts.hooks.entry_point import start
    except Exception as error:  # noqa: BLE001  # a removed or damaged installation
        return approve(f"{GONE} ({type(error).__name__}: {error})")
    try:
        start(["--hook-type", hook_type, "--harness", "claude-code", "--plugin-root", PLUGIN, "--json"])
    except Exception as error:  # noqa: BLE001  # the edge: a defect of ours must not block a user's session
        approve(f"Bridle's hook failed, so it does not block: {type(error).__name__}: {error}")


def approve(warning: str) -> None:
    """Allow the stop, and warn the user."""
    import json

    sys.stdout.write(json.dumps({"systemMessage": warning}) + "\n")
    sys.stderr.write(f"bridle: {warning}\n")


if __name__ == "__main__":
    run(sys.argv[1])
