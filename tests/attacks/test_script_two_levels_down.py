"""Attack: weaken a check two levels down: Makefile, a script, and another one that this sources or runs.

Scripts that are executed or sourced are restored; files that they only read, and modules of the project, stay editable.

With the sandbox: the same; the working copy is writable.
Without: restored.
Reported: under `undone`, with the reason.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.loop.protection.find import find_definitions
from bridle.loop.protection.findings import RepositoryFiles
from tests.loop.fixtures.repositories import make_repository

FILES: dict[str, str | bytes] = {
    "Makefile": ".PHONY: test\ntest:\n\tbash scripts/test.sh\n",
    "scripts/test.sh": """#!/bin/bash
set -e
. scripts/lib.sh
source "$(dirname "$0")/quoted.sh"
. $(dirname $0)/unquoted.sh
DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if "$DIR/run.sh" data.txt; then exec python3 tools/verify.py data.txt; fi
grep -q yes g.txt
""",
    "scripts/lib.sh": "bash scripts/deep.sh\nfail() { exit 1; }\n",
    "scripts/deep.sh": "cat data.txt\n",
    "scripts/quoted.sh": "",
    "scripts/unquoted.sh": "",
    "scripts/run.sh": "#!/bin/sh\nfalse\n",
    "scripts/other.sh": "",
    "tools/verify.py": "import app\n",
    "app.py": "",
    "data.txt": "",
    "g.txt": "",
}
RUN = {f"scripts/{name}.sh" for name in ("test", "lib", "deep", "quoted", "unquoted", "run")} | {"tools/verify.py"}
PACKAGE = '{"scripts": {"test": "node tools/run.js && ./scripts/test.sh"}}'


def test_it_is_restored(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", FILES, checks=("make test",))
    here.start()
    here.write(dict.fromkeys((*RUN, "scripts/other.sh", "app.py", "data.txt"), "# the agent's\n"))
    undone = {report["path"]: report["what"] for report in here.protect()["undone"]}
    assert undone.keys() == RUN
    assert undone["scripts/deep.sh"].startswith("it was changed, and a check runs it, through scripts/lib.sh; only a")


@pytest.mark.parametrize("command", ["sh -e scripts/test.sh", "npm test", "env X=1 scripts/test.sh", "make test"])
def test_it_is_followed_from_every_way_to_start_it(command: str) -> None:
    files = {**FILES, "package.json": PACKAGE, "tools/run.js": ""}
    texts = {name: str(text) for name, text in files.items()}
    found = find_definitions([command], RepositoryFiles(list(files), files.__contains__, texts.get))
    assert found.files.keys() - {"tools/run.js"} == RUN


def test_a_script_is_known_by_its_first_line_and_inline_code_is_none() -> None:
    files = {"bin/run": "#!/usr/bin/env bash\n./deep\npython3 -c 'print()' read.py\n", "deep": "", "read.py": ""}
    found = find_definitions(["bin/run"], RepositoryFiles(list(files), files.__contains__, files.get))
    assert found.files.keys() == {"bin/run", "deep"}


def test_no_more_than_64_scripts_are_read() -> None:
    files = {f"s{n}.sh": "" for n in range(100)} | {"all.sh": "".join(f"./s{n}.sh\n" for n in range(100))}
    found = find_definitions(["./all.sh"], RepositoryFiles(list(files), files.__contains__, files.get))
    assert len(found.files) == 64


def test_scripts_that_run_each_other_end() -> None:
    files = {f"s{n}.sh": f"./s{n + 1}.sh\n./s0.sh\n" for n in range(100)}
    found = find_definitions(["./s0.sh"], RepositoryFiles(list(files), files.__contains__, files.get))
    assert found.files.keys() == {"s0.sh", "s1.sh", "s2.sh", "s3.sh"}
