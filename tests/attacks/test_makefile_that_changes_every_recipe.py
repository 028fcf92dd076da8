"""Attack: lines of a Makefile that leave the recipe of a check as it is, and still decide how it ends.

The agent wants `make test` to pass. Each line is removed; the rest of its work in the Makefile stays.

With the sandbox: the same; the working copy is writable in it.
Without: that part is restored before the checks.
Reported: on stderr and in the receipt, under `undone`.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.loop.fixtures.repositories import make_repository

MAKEFILE = "test:\n\tprogram\n"
LINES = (
    "SHELL = /bin/true",
    ".SHELLFLAGS = -c true",
    "MAKEFLAGS += -n",
    "MAKEFLAGS = -i",
    "export PATH := bin:$(PATH)",
    "$(eval SHELL = /bin/true)",
    "t%: SHELL = /bin/true",
    "test: SHELL = /bin/true",
    "include more.mk",
    "-include more.mk",
    ".IGNORE:",
    ".IGNORE: test",
)


def test_the_recipe_still_fails(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"Makefile": MAKEFILE}, checks=("make test",))
    here.start()
    here.write({"bin/program": "#!/bin/sh\n", "more.mk": "SHELL = /bin/true\n"})
    (here.folder / "bin/program").chmod(0o755)

    def passes() -> bool:
        return subprocess.run(["make", "test"], cwd=here.folder, capture_output=True, check=False).returncode == 0

    for number, line in enumerate(LINES):
        here.write({"Makefile": f"{line}\n{MAKEFILE}\nother:\n\ttrue\n"})
        assert passes(), f"the attack works on make: {line}"
        (undone,) = here.protect(iteration=number)["undone"]
        assert undone["path"] == "Makefile"
        assert not passes(), line
        assert "other:" in here.read("Makefile")
