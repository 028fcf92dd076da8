"""Attack: a file that a Makefile would include if it existed: `-include local.mk`, a pattern, or `$(wildcard …)`.

Whatever it sets counts for every recipe, also `SHELL`. The Makefile itself stays as it was. Files that make or a
compiler makes (`*.d`) may be added.

With the sandbox: the same; the working copy is writable.
Without: removed before the checks.
Reported: on stderr and in the receipt, under `undone`.
"""

from __future__ import annotations

from pathlib import Path

from tests.loop.fixtures.repositories import make_repository

MAKEFILE = """DIR = config
PARTS = $(wildcard $(DIR)/*.mk)
-include local.mk .env # of each developer
include $(PARTS) $(wildcard more/*/x.mk)
-include build/*.d version.mk
version.mk:
\techo V=1 > $@
.PHONY: test
test:
\tgrep -q yes v
"""
ADDED = ("local.mk", ".env", "config/b.mk", "more/a/x.mk")
ORDINARY = ("build/a.d", "version.mk", "config/b.txt")


def test_it_is_removed(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"Makefile": MAKEFILE, "v": "no\n", "config/a.mk": "A = 1\n"}
    here = make_repository(tmp_path / "r", files, checks=("make test",))
    here.start()
    assert here.protect()["undone"] == []
    here.write(dict.fromkeys((*ADDED, *ORDINARY), "SHELL = /bin/true\n"))
    result = here.protect()
    assert {report["path"] for report in result["undone"]} == {*ADDED}
    assert "Makefile would include it" in result["undone"][0]["what"]
    assert [name for name in (*ADDED, *ORDINARY) if (here.folder / name).exists()] == [*ORDINARY]
