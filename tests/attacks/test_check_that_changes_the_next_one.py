"""Attack: the agent's code, which one check runs, changes a protected file of the next check, which puts it back.

After both checks no file differs, and the second one has passed. Protected files are compared by content between two
checks: the first one counts as failed, and the second one runs the file as it was. Files that the first command itself
names, and does not execute, are its output.

With the sandbox: the same; the working copy is writable.
Without: the check that changed it has failed, and the file is restored before the next one.
Reported: by the output of the check.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.loop.settings.model import Settings
from tests.loop.fixtures.repositories import make_repository

FILES: dict[str, str | bytes] = {
    "v": "no\n",
    "app.sh": "true\n",
    "verify.sh": "grep -q yes v\n",
    "Makefile": "test:\n\tsh app.sh\nbuild:\n\tsh app.sh\nlint:\n\tgrep -q yes v\n",
    "out.txt": "\n",
}
ATTACK = "cp {file} old; printf '{text}' > {file}\n"


@pytest.mark.parametrize("clean", [Settings().clean, "checkout"])
@pytest.mark.parametrize(
    ("checks", "file", "text"),
    [
        (("sh app.sh", "sh verify.sh"), "verify.sh", "cp old verify.sh; rm old"),
        (("make test", "make lint"), "Makefile", "lint:\\n\\tcp old Makefile; rm old\\n"),
    ],
)
def test_it_fails_and_the_next_one_runs_the_file_as_it_was(
    tmp_path: Path, clean: str, checks: tuple[str, str], file: str, text: str
) -> None:
    here = make_repository(tmp_path / "r", FILES, checks=checks, clean=clean)
    here.start()
    here.write({"app.sh": ATTACK.format(file=file, text=text)})
    result = here.check(*checks)
    assert [check["exit_code"] != 0 for check in result["results"]] == [True, True]
    assert f"[it changed {file} while it ran" in result["results"][0]["output"]
    assert here.read(file) == FILES[file]
    # The user may have edited it in that time.
    kept = here.git("for-each-ref", "--format=%(refname)", "refs/bridle/taken-back").split()
    assert f"[the change is kept as {kept[0]}]" in result["results"][0]["output"]
    assert here.git("show", f"{kept[0]}:{file}") == text.replace("\\n", "\n").replace("\\t", "\t")


def test_output_that_a_check_names_and_files_of_make_are_no_attack(tmp_path: Path) -> None:
    checks = ("sh app.sh > out.txt", "make build", "grep -q made out.txt && test -e build")
    here = make_repository(tmp_path / "r", FILES, checks=checks)
    here.start()
    here.write({"app.sh": "echo made; touch build\n"})
    assert [check["exit_code"] for check in here.check(*checks)["results"]] == [0, 0, 0]
