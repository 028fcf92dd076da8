"""Attack: an agent edits a file that a program of the user runs later: a hook of `core.hooksPath`, a task of an editor.

Git often ignores them (`.husky/_`, `.vscode`, `.envrc`), so no commit shows the edit. They may be in any folder: a user
opens a package of a repository in the editor, or enters it in a shell. What no commit contains is restored, other
changes are reported, and a task whose `May edit:` names the file may change it.

With the sandbox: the same; the working copy is writable.
Without: restored, or reported if the commit contains it.
Reported: in the receipt, by name.
"""

from __future__ import annotations

from pathlib import Path

from bridle.loop.protection.recorded import startup_files
from bridle.loop.protection.recorded.walk_files import walk
from tests.loop.fixtures.repositories import make_repository

IGNORED = (".husky/_/pre-commit", ".vscode/tasks.json", ".envrc", ".claude/settings.local.json")


def test_it_is_restored_or_reported(tmp_path: Path) -> None:
    rules = ".husky/_/\n.vscode/\n.envrc\n.claude/*.local.json\n"
    files: dict[str, str | bytes] = {".gitignore": rules, ".pre-commit-config.yaml": "repos: []\n", "a": "1\n"}
    here = make_repository(tmp_path / "r", files, checks=("true",))
    here.git("config", "core.hooksPath", ".husky/_")
    here.write({".husky/_/pre-commit": "exit 0\n", ".envrc": "as it was\n"})
    here.start()
    startup_files.record(here.context, "before", walk(here.folder).startup)
    here.write(dict.fromkeys((*IGNORED, ".husky/_/pre-push", ".pre-commit-config.yaml", ".mcp.json"), "evil\n"))
    here.write({"a": "2\n"})
    result = here.protect(snapshot="before")
    assert {report["path"] for report in result["undone"]} == {*IGNORED, ".husky/_/pre-push"}
    assert {report["path"] for report in result["reported"]} == {".pre-commit-config.yaml", ".mcp.json"}
    assert here.read(".husky/_/pre-commit") == "exit 0\n"
    assert here.read(".envrc") == "as it was\n"
    assert not [name for name in (*IGNORED[1:2], *IGNORED[3:], ".husky/_/pre-push") if (here.folder / name).exists()]
    assert here.read(".mcp.json") == "evil\n"
    here.write({".envrc": "allowed\n"})
    assert here.protect(snapshot="before", iteration=2, may_edit=[".envrc"])["undone"] == []
    assert here.read(".envrc") == "allowed\n"


def test_they_are_found_in_any_folder_but_those_of_packages(tmp_path: Path) -> None:
    planted = (
        *("packages/app/.vscode/tasks.json", "packages/app/.claude/hooks/x.sh", "sub/.envrc", "a.code-workspace"),
        *(".direnv/profile.rc", "mise.local.toml", ".Rprofile", "sub/.npmrc", ".kiro/settings/mcp.json", ".gdbinit"),
    )
    others = ("node_modules/x/.vscode/tasks.json", "packages/app/src/tasks.json", ".venv/bin/activate")
    rules = "\n".join((*planted, "node_modules", "tasks.json", ".venv"))
    here = make_repository(tmp_path / "r", {".gitignore": f"{rules}\n", "a": "1\n"}, checks=("true",))
    here.write({"sub/.venv/bin/activate": "as it was\n", "sub/.envrc": "as it was\n"})
    here.start()
    startup_files.record(here.context, "before", walk(here.folder).startup)
    here.write(dict.fromkeys((*planted, *others, "sub/.venv/bin/activate"), "evil\n"))
    result = here.protect(snapshot="before")
    assert {report["path"] for report in result["undone"]} == {*planted, "sub/.venv/bin/activate"}
    assert [name for name in planted if (here.folder / name).exists()] == ["sub/.envrc"]
    assert (here.read("sub/.envrc"), here.read("sub/.venv/bin/activate")) == ("as it was\n", "as it was\n")
    assert [name for name in others if not (here.folder / name).exists()] == []


def test_a_claimed_submodule_in_the_index_does_not_hide_that_git_ignores_them(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {".gitignore": ".vscode/\n", "a": "1\n"}, checks=("true",))
    here.start()
    startup_files.record(here.context, "before", ())
    here.write({".vscode/tasks.json": "evil\n"})
    head = here.git("rev-parse", "HEAD").strip()
    here.git("update-index", "--add", "--cacheinfo", f"160000,{head},.vscode")
    assert [report["path"] for report in here.protect(snapshot="before")["undone"]] == [".vscode/tasks.json"]


def test_one_behind_a_new_link_is_restored_and_hides_no_other(tmp_path: Path) -> None:
    rules = ".husky/_/\n.husky\n.envrc\n.vscode/\n"
    here = make_repository(tmp_path / "r", {".gitignore": rules, ".idea/workspace.xml": "1\n"}, checks=("true",))
    here.write({".husky/_/pre-commit": "exit 0\n", ".husky/pre-push": "exit 0\n", ".envrc": "as it was\n"})
    here.start()
    startup_files.record(here.context, "before", walk(here.folder).startup)
    (here.folder / ".husky").rename(here.folder / "mine")
    here.write({"mine/pre-push": "evil\n", ".envrc": "evil\n", ".vscode/tasks.json": "evil\n"})
    (here.folder / ".husky").symlink_to("mine")
    (here.folder / ".idea").rename(here.folder / "idea")
    (here.folder / ".idea").symlink_to("idea")
    here.write({"idea/workspace.xml": "2\n"})
    result = here.protect(snapshot="before")
    assert {report["path"] for report in result["undone"]} == {
        *(".husky", ".husky/pre-push", ".envrc", ".vscode/tasks.json"),
    }
    assert ".idea/workspace.xml" in {report["path"] for report in result["reported"]}
    assert (here.read(".husky/pre-push"), here.read(".envrc")) == ("exit 0\n", "as it was\n")
    assert not (here.folder / ".husky").is_symlink()
    assert not (here.folder / ".vscode/tasks.json").exists()


def test_files_of_the_user_that_are_many_large_or_behind_a_link_are_not_taken_for_new_ones(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {".gitignore": ".husky/\n.RData\n.claude\n", "a": "1\n"}, checks=("true",))
    here.write({f".husky/{number:03}": "mine\n" for number in range(150)})
    here.write({".RData": b"x" * (9 * 1024 * 1024), "shared/commands/x.md": "mine\n"})
    (here.folder / ".claude").symlink_to("shared")
    here.start()
    startup_files.record(here.context, "before", walk(here.folder).startup)
    (here.folder / ".husky/001").unlink()
    here.write({".husky/149": "evil\n", ".husky/150": "evil\n"})
    result = here.protect(snapshot="before")
    assert {report["path"] for report in result["undone"]} == {".husky/001", ".husky/149", ".husky/150"}
    assert sorted(path.name for path in (here.folder / ".husky").iterdir()) == [f"{number:03}" for number in range(150)]
    assert (here.folder / ".RData").stat().st_size == 9 * 1024 * 1024
    assert (here.folder / ".claude").is_symlink()
    assert here.read(".claude/commands/x.md") == "mine\n"
