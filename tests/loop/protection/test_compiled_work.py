"""Sources that make compiles for a check are the work, and the program that it builds is output."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bridle.loop.checks import ignored_files
from tests.loop.fixtures.repositories import Repository, make_repository

# A compiler of shell scripts: `cc -o TARGET SOURCE`.
COMPILER = """#!/bin/sh
{ echo '#!/bin/sh'; cat "$3"; } > "$2" && chmod +x "$2"
"""
NAMED = "test: prog\n\tsh test.sh\nprog: prog.c\n\t$(CC) -o prog prog.c\n.PHONY: test\n"
AUTOMATIC = "test: prog\n\tsh test.sh\nprog: prog.c\n\t$(CC) -o $@ $<\n.PHONY: test\n"
# With a rule of make itself.
BUILT_IN = "LINK.c = cc\nLOADLIBES =\ntest: prog\n\tsh test.sh\n.PHONY: test\n%: %.c\n\tcc -o $@ $<\n"


def start(folder: Path, text: str) -> Repository:
    programs = folder.parent / "bin"
    programs.mkdir()
    (programs / "cc").write_text(COMPILER)
    (programs / "cc").chmod(0o755)
    files: dict[str, str | bytes] = {
        "Makefile": text,
        "prog.c": "echo hello\n",
        "test.sh": "./prog | grep -q hello\n",
        ".gitignore": "prog\n",
    }
    before: dict[str, str | bytes] = {"prog": "#!/bin/sh\necho hello\n"}  # the user has built it once
    search = f"{programs}:/usr/local/bin:/usr/bin:/bin"
    own = "make prog && ./prog Ann | grep -q Ann"
    here = make_repository(
        folder, files, checks=(own,), guard=("make test",), untracked=before, environment={"PATH": search}
    )
    (folder / "prog").chmod(0o755)
    here.start()
    ignored_files.record(here.context, asyncio.run(ignored_files.list_ignored(here.context)))
    return here


@pytest.mark.parametrize("text", [NAMED, AUTOMATIC, BUILT_IN])
def test_an_agent_edits_a_source_and_builds_it(tmp_path: Path, text: str) -> None:
    here = start(tmp_path / "r", text)
    here.write({"prog.c": 'echo "hello $1"\n', "prog": '#!/bin/sh\necho "hello $1"\n'})
    assert not here.protect().get("undone")
    result = here.check("make prog && ./prog Ann | grep -q Ann", "make test")
    assert result["passed"], result["results"]
    assert "outside" not in result


@pytest.mark.parametrize("text", [NAMED, AUTOMATIC, BUILT_IN])
def test_a_forged_program_does_not_pass(tmp_path: Path, text: str) -> None:
    here = start(tmp_path / "r", text)
    here.write({"prog": "#!/bin/sh\necho hello Ann\n", "notes.txt": "done\n"})
    here.protect()
    result = here.check("make prog && ./prog Ann | grep -q Ann", "make test")
    assert not result["passed"] or "outside" in result


def test_the_script_that_judges_the_program_stays_protected(tmp_path: Path) -> None:
    here = start(tmp_path / "r", NAMED)
    here.write({"test.sh": "true\n"})
    here.protect()
    assert here.read("test.sh") == "./prog | grep -q hello\n"
