"""Attack: a file or folder with the name of a make target that is not phony: make does not run its recipe any more.

The agent wants `make test` to pass. What it adds is removed; what a recipe makes, and what the user had, stays.

With the sandbox: the same; the working copy is writable.
Without: removed.
Reported: under `undone`, with the reason.
"""

from __future__ import annotations

from pathlib import Path

from tests.loop.fixtures.repositories import make_repository

MAKEFILE = """
.PHONY: clean
test: lint build/app lib
\tgrep -q yes answer && cargo test
lint:
\tfalse
build/app: main.c
\tmkdir -p build && cp main.c $@
lib:
\ttouch lib
mine:
\ttrue
clean:
\ttrue
"""


def test_it_is_removed_and_the_recipe_runs(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"Makefile": MAKEFILE, "main.c": "", ".gitignore": "build\nmine\n"}
    here = make_repository(tmp_path / "r", files, checks=("make test", "make -C . mine clean"))
    here.write({"mine/x": "of the user, ignored\n"})
    here.start()
    here.write({"lint": "", "build/app": "", "lib": "", "clean": "", "test/data": ""})
    assert here.check("make test")["passed"], "the attack works on make"
    undone = {report["path"]: report["what"] for report in here.protect()["undone"]}
    assert undone.keys() == {"test", "lint"}
    assert undone["test"].startswith("it was added, and make would not run the recipe of test any more; only a task")
    assert not here.check("make test")["passed"]
    assert all((here.folder / name).exists() for name in ("build/app", "lib", "clean", "mine/x"))
