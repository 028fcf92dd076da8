"""What Claude Code starts for a hook. `bridle plugin install` wrote it, with the place of Bridle in it.

It runs without `site`, which takes longer than the hook itself. Whatever goes wrong here, the session may end.
"""

import sys

PACKAGE = "@PACKAGE@"
PLUGIN = "@PLUGIN@"
GONE = "@GONE@"


def run(hook_type: str) -> int:
    """Answer one hook; the payload is on standard input."""
    sys.path.append(PACKAGE)
    try:
        from bridle.hosts.hook import main
    except ImportError as error:
        return approve(f"{GONE} ({error})")
    words = ["--hook-type", hook_type, "--harness", "claude-code", "--plugin-root", PLUGIN, "--json"]
    try:
        return main(words, sys.stdin.buffer.read())
    except Exception as error:  # noqa: BLE001  # the edge: a defect of ours must not hold somebody's session
        return approve(f"Bridle's hook failed, so this session is not held: {type(error).__name__}: {error}")


def approve(why: str) -> int:
    """Let the session go, and tell the person at it."""
    import json

    sys.stdout.write(json.dumps({"systemMessage": why}) + "\n")
    sys.stderr.write(f"bridle: {why}\n")
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1]))
