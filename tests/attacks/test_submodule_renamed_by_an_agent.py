"""Attack: an agent renames a submodule in `.gitmodules`, so that Bridle clones a hidden repository into a worktree.

Bridle's git fills the submodules of worktrees outside of the sandbox. A name such as `active=:!x` splits the setting
by which Bridle gives the address, and git would take that of `.gitmodules`: a repository in a hidden folder, or one
that only the user may fetch. A name is used only if the user's working copy has the same one for this path.

With the sandbox: not filled; nothing is cloned.
Without: the same, but the agent can read what you can.
Reported: on stderr, by the name of the submodule.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.loop.fixtures.fake_agent import Project, make_project

PLAN = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nNeeds: One\nCheck: `test -f two`\n"
IDENTITY = "-c user.name=a -c user.email=a@localhost"
# The first task empties the submodule, so that it is filled again; the second one shows what it was filled with.
AGENT = """
import subprocess
def shell(command):
    return subprocess.run(command, shell=True, capture_output=True, text=True).stdout
folder = shell("git rev-parse --absolute-git-dir").strip() + "/modules"
if task == "One":
    shell("rm -rf ./sub && mkdir ./sub")
    {attack}
    open("one", "w").close()
else:
    lines = [shell(f"git --git-dir='{{folder}}/{{name}}' log -p --all") for name in os.listdir(folder)]
    open("two", "w").write("\\n".join([*lines, *os.listdir("sub")]))
"""
WRITES_NAMES = "open('.gitmodules', 'w').write({text!r})"


def make(tmp_path: Path, attack: str) -> Project:
    """Make a repository with the submodule `sub`, and an agent that attacks in its first task."""
    here = make_project(tmp_path, PLAN, AGENT.format(attack=attack))
    commit = f"touch a && git add a && git {IDENTITY} commit -q -m a"
    add = "git -c protocol.file.allow=always submodule add -q ../library sub && git commit -q -m sub"
    here.execute(["sh", "-ec", f"git init -q ../library && (cd ../library && {commit}) && {add}"]).check_returncode()
    return here


def run(here: Project) -> tuple[str, str]:
    """Run the plan; return what the second task has found, and what Bridle printed."""
    done = here.bridle("run", "PLAN.md", "--parallel", "2")
    branch = here.git("for-each-ref", "--format=%(refname)", "refs/heads/bridle").splitlines()[0]
    return here.git("show", f"{branch}:two"), done.stderr


@pytest.mark.parametrize("names", [["active=:!x"], ["sub", "active=:!x"], ["other"]])
def test_a_hidden_repository_is_not_cloned(tmp_path: Path, sandbox: str, names: list[str]) -> None:
    store = Path.home() / ".hidden-store"
    command = f"git init -q {store} && cd {store} && echo hunter2 > key && git add key && git {IDENTITY} commit -q -m a"
    subprocess.run(["/bin/sh", "-ec", command], check=True, timeout=60)
    text = "".join(f'[submodule "{name}"]\n\tpath = sub\n\turl = {store}\n' for name in names)
    here = make(tmp_path, WRITES_NAMES.format(text=text))
    here.git("config", "submodule.active", ".")
    found, printed = run(here)
    assert "hunter2" not in found
    assert "the submodule sub of the worktree" in printed
    assert "no submodule of the same name" in printed


@pytest.mark.parametrize("name", ["planted", "sub"])
def test_a_planted_git_folder_of_a_submodule_runs_no_program(tmp_path: Path, sandbox: str, name: str) -> None:
    """Attack: an agent plants a git folder with a filter, for git to take it for that of a submodule with a new name.

    Git uses a folder in `modules` of the worktree's git folder again if it has the name of the submodule, and would run
    its filter as Bridle fills the submodule, after the agent has ended.

    With the sandbox: impossible; the folder is read-only, and the name is not used.
    Without: the name is not used, and the settings of a folder from before are restored.
    Reported: on stderr, or in the receipt for a folder from before.
    """
    note = Path.home() / "note"
    settings = f'[core]\n\tbare = false\n[filter "x"]\n\tsmudge = touch {note} && cat\n\trequired = true\n'
    here = make(
        tmp_path,
        f"""
    shell(f"test -d {{folder}}/{name} || cp -r {{folder}}/sub {{folder}}/{name}")
    shell(f"mkdir -p {{folder}}/{name}/info; rm -f {{folder}}/{name}/index")
    try:
        open(f"{{folder}}/{name}/config", "w").write({settings!r})
        open(f"{{folder}}/{name}/info/attributes", "w").write("* filter=x\\n")
    except OSError:
        pass
    """.strip()
        + "\n    "
        + WRITES_NAMES.format(text=f'[submodule "{name}"]\n\tpath = sub\n\turl = ./x\n'),
    )
    found, printed = run(here)
    assert not note.exists()
    assert (found.endswith("\na") or "\na\n" in found) == (name == "sub")
    assert ("no submodule of the same name" in printed) == (name == "planted")
