"""Attack: a check's code puts a link where Bridle moves files away or back.

To find out whether checks pass in a clone, Bridle runs them again without ignored files: it moves these away and back.
The code under test makes their folder a link to the user's home in between. Then moving them back would overwrite
`~/.bashrc`, and moving `~/.ssh` away would show it to the check.

With the sandbox: a link on the way is removed or refused, never followed; the check cannot read what was moved.
Without: the same, but the moved files of the working copy itself can be read.
Reported: a file that cannot be moved is named in the output, and counts as needed.
"""

from __future__ import annotations

from pathlib import Path

from bridle.loop.checks.without_files import NotInCommit, without_files
from bridle.run.isolation.sandbox_rules import OFF
from tests.loop.fixtures.loop_commands import receipt_of
from tests.loop.fixtures.repositories import make_repository
from tests.loop.fixtures.sandboxed_project import make_sandboxed_project

PLAN = "# One\n\n## One\nCheck: `sh app.sh`\n"
# The second run of the check is the one without `d/.bashrc`.
AGENT = """
os.mkdir("d")
open("d/x", "w").write("1")
open("d/.bashrc", "w").write("evil")
open(".gitignore", "w").write("d/.bashrc")
open("app.sh", "w").write("test -e d/.bashrc || { mv d d2; ln -s USER_HOME d; cat .a5c/runs/*/bridle-moved/*; }; true")
"""


def test_nothing_is_moved_back_through_a_link_that_the_check_made(tmp_path: Path, sandbox: str) -> None:
    home = tmp_path / "user"
    home.mkdir()
    (home / ".bashrc").write_text("of the user\n")
    here = make_sandboxed_project(tmp_path, PLAN, AGENT.replace("USER_HOME", str(home)), sandbox=sandbox)
    receipt_of(here.bridle("run", "PLAN.md", "--json"), 0)
    assert (home / ".bashrc").read_text() == "of the user\n"
    assert (here.folder / "d/.bashrc").read_text() == "evil"
    logs = [log.read_text() for log in sorted((here.folder / ".ralph/logs/checks").iterdir())]
    assert any("evil" in text for text in logs) == (sandbox == OFF)
    assert any("bridle-moved" in text for text in logs) == (sandbox != OFF), "the check looked for it"


def test_nothing_is_moved_away_through_a_link(tmp_path: Path) -> None:
    secret = tmp_path / "home/.ssh/id_rsa"
    secret.parent.mkdir(parents=True)
    secret.write_text("secret\n")
    here = make_repository(tmp_path / "r", {"a": "1\n"})
    (here.folder / "d").symlink_to(tmp_path / "home")
    for name in ("d/.ssh", "d/.ssh/id_rsa", "../home/.ssh", "d/.ssh/"):
        for instead in (None, b"evil"):
            with without_files(here.context, [NotInCommit(name, instead=instead)]) as is_possible:
                assert (is_possible, secret.read_text()) == (False, "secret\n")
    assert [path.name for path in secret.parent.iterdir()] == ["id_rsa"]
