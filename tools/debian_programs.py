"""Find the programs of Debian's packages that the tests start, and install them where that is possible.

As root on a machine with apt-get they are installed; elsewhere the line to enter is printed and the run ends: a missing
program is a failure, never a skipped test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

# By package: the names of its program, of which one is enough. The browser opens the page, the shells complete
# commands, and groff formats the man page.
PROGRAMS = {
    "chromium": ("chromium", "chromium-browser", "google-chrome"),
    "fish": ("fish",),
    "groff": ("groff",),
    "zsh": ("zsh",),
}
# A download of about 120 MB, on a slow line.
INSTALL_LIMIT_SECONDS = 900
# A browser answers within three seconds on an idle machine.
VERSION_LIMIT_SECONDS = 120


def find_program(package: str) -> str | None:
    """Return the path of a package's program, or None."""
    return next((found for name in PROGRAMS[package] if (found := shutil.which(name))), None)


def find_browser() -> str | None:
    """Return the path of the browser, or None."""
    return find_program("chromium")


def main() -> int:
    if missing := _missing():
        _install(missing)
    if missing := _missing():
        names = " ".join(missing)
        print(f"missing for the tests: {names}. On Debian: apt-get install {names}", file=sys.stderr)
        return 1
    for package in PROGRAMS:
        print(f"{package}: {_version(find_program(package) or package)}")
    return 0


def _missing() -> list[str]:
    return [package for package in PROGRAMS if find_program(package) is None]


def _version(program: str) -> str:
    done = subprocess.run(
        [program, "--version"], capture_output=True, text=True, timeout=VERSION_LIMIT_SECONDS, check=False
    )
    return next(iter(done.stdout.splitlines()), program)


def _install(packages: Sequence[str]) -> None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    print(f"installing {' '.join(packages)} (once)", file=sys.stderr, flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        subprocess.run(
            ["apt-get", "-qq", *command],
            env=environment,
            timeout=INSTALL_LIMIT_SECONDS,
            stdout=subprocess.DEVNULL,
            check=False,
        )


if __name__ == "__main__":
    sys.exit(main())
