"""Find the browser that the tests of the page start, and install it where that is possible.

The tests use Debian's chromium. As root on a machine with apt-get it is installed; elsewhere the line to enter is
printed and the run ends: a missing browser is a failure, never a skipped test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
# A download of about 100 MB, on a slow line.
INSTALL_LIMIT_SECONDS = 900
# It answers within three seconds on an idle machine.
VERSION_LIMIT_SECONDS = 120


def find_browser() -> str | None:
    """Return the path of the first known browser, or None."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


def main() -> int:
    if find_browser() is None:
        _install()
    program = find_browser()
    if program is None:
        print("browser: chromium is missing. On Debian: apt-get install chromium", file=sys.stderr)
        return 1
    done = subprocess.run(
        [program, "--version"], capture_output=True, text=True, timeout=VERSION_LIMIT_SECONDS, check=False
    )
    print(f"browser: {done.stdout.strip() or program}")
    return 0


def _install() -> None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    print("browser: installing chromium (once)", file=sys.stderr, flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        subprocess.run(
            ["apt-get", "-qq", *command],
            env=environment,
            timeout=INSTALL_LIMIT_SECONDS,
            stdout=subprocess.DEVNULL,
            check=False,
        )


if __name__ == "__main__":
    sys.exit(main())
