"""What is read from git's own files is what git says; where that cannot be known without it, git is asked."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from bridle.workspace import snapshot
from bridle.workspace.commit import commit, first_parents, format_message, list_commits, write_commit
from bridle.workspace.git import Git
from bridle.workspace.git_folder import index_file, read_git_files, write_git_files
from bridle.workspace.repair import ref_lock
from tests.workspace.fixtures.repositories import git, make_repository, write


def _says(folder: Path, *words: str) -> str:
    return git(folder, *words).strip()


def test_the_commit_the_branch_and_its_tree_are_what_git_says(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    commit_id = _says(repo.folder, "rev-parse", "HEAD")
    assert read_git_files.head(repo.folder) == commit_id
    assert read_git_files.read_head(repo.folder) == "refs/heads/main"
    assert read_git_files.read_commit(repo.folder, commit_id) == (_says(repo.folder, "rev-parse", "HEAD^{tree}"), ())


def test_a_commit_by_itself_is_on_no_branch(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "checkout", "-q", "--detach")
    assert asyncio.run(repo.branch()) is None
    assert asyncio.run(repo.head()) == _says(repo.folder, "rev-parse", "HEAD")


def test_a_branch_without_a_commit_has_no_head(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    repo = Git(tmp_path)
    assert asyncio.run(repo.head()) is None
    assert asyncio.run(repo.branch()) == "main"


def test_packed_refs_are_found_and_a_loose_one_goes_before_them(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    first = _says(repo.folder, "rev-parse", "HEAD")
    git(repo.folder, "branch", "other")
    git(repo.folder, "pack-refs", "--all")
    assert read_git_files.ref(repo.folder, "refs/heads/other") == first
    write(repo.folder, {"new.txt": "new\n"})
    second = asyncio.run(commit(repo, format_message("second")))
    assert second != first
    assert read_git_files.head(repo.folder) == second
    assert read_git_files.ref(repo.folder, "refs/heads/missing") is None


def test_packed_commits_and_odd_places_are_left_to_git(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    commit_id, tree = _says(repo.folder, "rev-parse", "HEAD"), _says(repo.folder, "rev-parse", "HEAD^{tree}")
    git(repo.folder, "gc", "-q")
    with pytest.raises(read_git_files.NeedsGit):
        read_git_files.read_commit(repo.folder, commit_id)
    assert asyncio.run(repo.tree_of(commit_id)) == tree
    for name in ("HEAD", "refs/tags/x", "refs/heads/../x", "refs/worktree/x"):
        with pytest.raises(read_git_files.NeedsGit):
            read_git_files.ref(repo.folder, name)
    for text in ("", "gitdir:\n", f"{repo.folder}/.git\n"):
        write(tmp_path / "odd", {".git": text})
        with pytest.raises(read_git_files.NeedsGit):
            read_git_files.head(tmp_path / "odd")
    below = Git(repo.folder / "sub")
    assert asyncio.run(below.head()) == commit_id  # not the top: git looks for it


def test_a_worktree_has_a_head_of_its_own_and_shares_its_refs(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "worktree", "add", "-q", "-b", "other", str(tmp_path / "w"))
    other = Git(tmp_path / "w")
    assert asyncio.run(other.branch()) == "other"
    assert asyncio.run(repo.branch()) == "main"
    write(other.folder, {"w.txt": "w\n"})
    made = asyncio.run(commit(other, format_message("there")))
    assert asyncio.run(other.head()) == made == asyncio.run(repo.object("refs/heads/other"))
    assert str(asyncio.run(other.index_path())) == _says(other.folder, "rev-parse", "--git-path", "index")


def test_a_commit_and_a_ref_that_were_written_are_those_that_git_would_have_written(tmp_path: Path) -> None:
    for form in ("sha1", "sha256"):
        folder = tmp_path / form
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main", f"--object-format={form}")
        write(folder, {"a.txt": "a\n"})
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "first")
        head, tree = _says(folder, "rev-parse", "HEAD"), _says(folder, "rev-parse", "HEAD^{tree}")
        author = "Bridle <bridle@localhost> 1790000000 +0000"
        made = write_git_files.write_commit(folder, tree, [head], author, author, "bridle: why")
        dates = {f"GIT_{whose}_DATE": "1790000000 +0000" for whose in ("AUTHOR", "COMMITTER")}
        names = {f"GIT_{whose}_NAME": "Bridle" for whose in ("AUTHOR", "COMMITTER")}
        addresses = {f"GIT_{whose}_EMAIL": "bridle@localhost" for whose in ("AUTHOR", "COMMITTER")}
        variables = {**dates, **names, **addresses}
        words = ("commit-tree", tree, "-p", head, "-m", "bridle: why")
        assert made == asyncio.run(Git(folder).text(*words, variables=variables))
        write_git_files.write_ref(folder, "refs/bridle/snapshots/one", made)
        assert _says(folder, "rev-parse", "refs/bridle/snapshots/one") == made
        assert git(folder, "fsck", "--strict") == ""
        assert read_git_files.read_commit(folder, made) == (tree, (head,))


@pytest.mark.parametrize("name", ["Ada Lovelace", "Zoë"])
def test_a_commit_that_is_made_again_has_the_same_author(tmp_path: Path, name: str) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"new.txt": "new\n"})
    git(repo.folder, "add", "-A")
    git(
        repo.folder,
        "commit",
        "-q",
        "-m",
        "second",
        f"--author={name} <a@example.com>",
        "--date=2001-02-03T04:05:06+0100",
    )
    first, tree = _says(repo.folder, "rev-parse", "HEAD^"), _says(repo.folder, "rev-parse", "HEAD^{tree}")
    wanted = _says(repo.folder, "log", "-1", "--format=%an <%ae> %ad", "--date=raw")
    assert read_git_files.author_of(repo.folder, _says(repo.folder, "rev-parse", "HEAD")) == wanted
    for encoding in ("utf-8", "latin-1"):  # git itself makes the last one
        git(repo.folder, "config", "i18n.commitEncoding", encoding)
        git(repo.folder, "commit", "-q", "--amend", "--no-edit", f"--author={name} <a@example.com>")
        before = _says(repo.folder, "rev-parse", "HEAD")
        again = asyncio.run(write_commit(Git(repo.folder), tree, [first], "again\n", author_from=before))
        assert _says(repo.folder, "log", "-1", "--format=%an <%ae> %ad %s", "--date=raw", again) == f"{wanted} again"


def test_the_folder_that_worktrees_share_is_the_one_that_git_names(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "worktree", "add", "-q", "--detach", str(tmp_path / "w"))
    (tmp_path / "link").symlink_to(tmp_path / "r")
    for folder in (repo.folder, tmp_path / "w", tmp_path / "link", repo.folder / "sub"):
        named = _says(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")
        assert asyncio.run(Git(folder).common_folder()) == Path(named)


def test_a_locked_ref_and_names_that_lead_elsewhere_are_left_to_git(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    commit_id = _says(repo.folder, "rev-parse", "HEAD")
    place = repo.folder / ".git" / "refs" / "bridle" / "snapshots"
    place.mkdir(parents=True)
    (place / "held.lock").touch()
    for name in ("refs/bridle/snapshots/held", "refs/bridle/snapshots", "refs/heads/x", "refs/bridle/../heads/x"):
        with pytest.raises(read_git_files.NeedsGit):
            write_git_files.write_ref(repo.folder, name, commit_id)
    assert (place / "held.lock").exists()


def test_the_lock_that_a_killed_one_left_on_a_snapshot_is_removed(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    place = repo.folder / ".git" / "refs" / "bridle" / "snapshots"
    place.mkdir(parents=True)
    (place / "work.lock").touch()
    taken = asyncio.run(snapshot.take(repo, name="work", why="test"))
    assert _says(repo.folder, "rev-parse", "refs/bridle/snapshots/work") == taken.commit
    (place / "work.lock").touch()
    asyncio.run(snapshot.drop(repo, taken))
    assert list(place.glob("*")) == []


def test_a_lock_that_changes_hands_is_waited_for_and_left_alone(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    lock = repo.folder / ".git" / "refs" / "bridle" / "snapshots" / "work.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()

    async def another_takes_it() -> None:
        waiting = asyncio.ensure_future(ref_lock.remove_stale(repo, "refs/bridle/snapshots/work"))
        await asyncio.sleep(0)
        lock.rename(lock.with_name("work"))
        lock.touch()
        await waiting

    asyncio.run(another_takes_it())
    assert lock.exists()


def test_in_a_repository_that_several_people_share_git_writes_everything(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "config", "core.sharedRepository", "group")
    assert not asyncio.run(repo.is_plain())
    taken = asyncio.run(snapshot.take(repo, name="one"))
    mode = (repo.folder / ".git" / "objects" / taken.commit[:2] / taken.commit[2:]).stat().st_mode
    assert mode & 0o040, "the group cannot read it"


def test_a_setting_is_asked_for_again_once_a_file_of_settings_has_changed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    folder = make_repository(tmp_path / "r").folder
    repo = Git(folder, {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"})
    assert "user.email" not in asyncio.run(repo.settings())
    assert asyncio.run(repo.identity())
    (home / ".gitconfig").write_text("[user]\n\temail = a@b\n", encoding="utf-8")
    assert asyncio.run(repo.settings())["user.email"] == "a@b"
    git(folder, "config", "filter.x.clean", "tr a b")
    assert asyncio.run(repo.settings())["filter.x.clean"] == "tr a b"
    included = tmp_path / "included"
    git(folder, "config", "include.path", str(included))
    asyncio.run(repo.settings())
    included.write_text("[user]\n\temail = c@d\n", encoding="utf-8")  # nobody follows what is brought in
    assert asyncio.run(repo.settings())["user.email"] == "c@d"


def test_an_index_that_was_seen_before_is_known_and_every_change_is_seen(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    clean = asyncio.run(snapshot.tree_of_all(repo))
    assert clean == asyncio.run(snapshot.tree_of_all(repo)) == _says(repo.folder, "rev-parse", "HEAD^{tree}")
    seen = {clean}
    for name in ("a.txt", "new.txt", "sub/b.txt"):
        write(repo.folder, {name: "changed\n"})
        seen.add(asyncio.run(snapshot.tree_of_all(repo)))
    (repo.folder / "a.txt").chmod(0o755)
    seen.add(asyncio.run(snapshot.tree_of_all(repo)))
    (repo.folder / "sub" / "b.txt").unlink()
    seen.add(asyncio.run(snapshot.tree_of_all(repo)))
    assert len(seen) == 6


def test_the_tree_of_the_index_is_written_again_where_git_has_lost_it(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"a.txt": "changed\n"})
    git(repo.folder, "add", "a.txt")
    tree = asyncio.run(snapshot.staged_tree(repo))
    (repo.folder / ".git/objects" / tree[:2] / tree[2:]).unlink()
    assert asyncio.run(snapshot.staged_tree(repo)) == tree
    assert _says(repo.folder, "cat-file", "-t", tree) == "tree"


def test_an_index_without_a_checksum_is_identified_by_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "index"
    path.write_bytes(b"one" + bytes(20))
    facts = path.stat()
    monkeypatch.setattr(os, "fstat", lambda _fd: facts)  # as if no time or size told them apart
    before = index_file.identify(path)
    path.write_bytes(b"two" + bytes(20))
    assert index_file.identify(path) != before


def test_a_file_that_is_only_meant_to_be_added_is_in_the_tree_of_all(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    staged = asyncio.run(snapshot.staged_tree(repo))
    write(repo.folder, {"empty.txt": ""})
    git(repo.folder, "add", "-N", "empty.txt")
    assert asyncio.run(snapshot.staged_tree(repo)) == staged
    tree = asyncio.run(snapshot.tree_of_all(repo))
    assert "empty.txt" in git(repo.folder, "ls-tree", "--name-only", tree)


def test_a_file_that_is_hidden_from_git_after_the_first_look_is_looked_at_all_the_same(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    before = asyncio.run(snapshot.tree_of_all(repo))
    git(repo.folder, "update-index", "--assume-unchanged", "a.txt")
    write(repo.folder, {"a.txt": "changed\n"})
    assert asyncio.run(snapshot.tree_of_all(repo)) != before


def test_a_snapshot_of_what_has_not_changed_is_the_one_before(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    first = asyncio.run(snapshot.take(repo, name="first"))
    assert asyncio.run(snapshot.take(repo, name="second", since=first)) == first
    assert asyncio.run(snapshot.find(repo, "second")) is None
    git(repo.folder, "rm", "-q", "--cached", "a.txt")  # the files are the same, what is staged is not
    third = asyncio.run(snapshot.take(repo, name="third", since=first))
    assert third.tree == first.tree
    assert asyncio.run(snapshot.find(repo, "third")) is not None


def test_commits_are_listed_with_their_trailers_and_merges_are_passed_over(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    base = _says(repo.folder, "rev-parse", "HEAD")
    assert asyncio.run(list_commits(repo, base)) == []
    write(repo.folder, {"one.txt": "1\n"})
    one = asyncio.run(commit(repo, format_message("one", "", {"Bridle-Run": "r", "Bridle-Task": "t"})))
    git(repo.folder, "checkout", "-q", "-b", "side", base)
    write(repo.folder, {"side.txt": "s\n"})
    side = asyncio.run(commit(repo, format_message("side")))
    git(repo.folder, "checkout", "-q", "main")
    git(repo.folder, "merge", "-q", "--no-ff", "-m", "merged", "side")
    found = asyncio.run(list_commits(repo, base))
    assert {two.commit for two in found} >= {one, side}
    assert [two.trailers for two in first_parents(found)] == [{}, {"Bridle-Run": "r", "Bridle-Task": "t"}]
    assert len(asyncio.run(list_commits(repo, base, limit=1))) == 1
