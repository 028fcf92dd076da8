"""Attack: an agent plants an object in `.git/objects` under the id of what it writes, with other content.

Git finds the id, and writes no object: the commit would have other content than the files that the checks ran on. A
planted tree would also hide changes of protected files. Bridle reads and hashes every object in which the files differ
from those before the agent. It removes forged ones and lets git write them again; a forged pack ends the work.

With the sandbox: the same; `.git/objects` is writable in it.
Without: the commit has the files on the disk; nothing is committed from a forged pack, or if the old tree is forged.
Reported: in the receipt, by file.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from pathlib import Path

import pytest

from bridle.errors import GitError
from bridle.workspace import snapshot
from bridle.workspace.git import Git
from bridle.workspace.git_folder.loose_objects import blob_id
from bridle.workspace.repair.forged_objects import find_forged, refuse_forged
from tests.attacks.fixtures.git_forgery import forge_object
from tests.loop.fixtures import repositories as loop_repositories
from tests.workspace.fixtures.repositories import git, make_repository, write

GOOD, EVIL = b"good\n", b"EVIL\n"
BLOB = blob_id(GOOD, like="0" * 40)


def look(repo: Git) -> str:
    return asyncio.run(snapshot.tree_of_all(repo, as_committed=True))


def forge_tree(folder: Path, name: str, like: str) -> None:
    """Give a tree the content of another one."""
    source = (folder / ".git/objects" / like[:2] / like[2:]).read_bytes()
    place = folder / ".git/objects" / name[:2] / name[2:]
    place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(source)


def plant_pack(folder: Path) -> None:
    """Pack the evil content, and let the pack's index say that it is the good one."""
    evil = git(folder, "hash-object", "-w", str(_write(folder / ".git/evil", EVIL))).strip()
    names = folder / ".git/names"
    names.write_text(f"{evil}\n")
    script = f"git pack-objects -q .git/objects/pack/pack < {names}"
    git(folder, "-c", f"alias.plant=!{script}", "plant")
    [index] = (folder / ".git/objects/pack").glob("*.idx")
    data = bytearray(index.read_bytes())
    counts = b"".join((1 if first >= int(BLOB[:2], 16) else 0).to_bytes(4) for first in range(256))
    data[8 : 8 + 1024 + 20] = counts + bytes.fromhex(BLOB)
    data[-20:] = hashlib.sha1(data[:-20], usedforsecurity=False).digest()
    index.chmod(0o644)
    index.write_bytes(data)


def _write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_new_file_is_committed_as_it_is_and_reported(tmp_path: Path) -> None:
    here = loop_repositories.make_repository(tmp_path / "r", {"a": "a\n"}, checks=("true",))
    here.start()
    here.write({"one.txt": GOOD})
    forge_object(here.folder, BLOB, EVIL)
    result = here.protect()
    assert here.git("show", f"{result['tree']}:one.txt") == GOOD.decode()
    [report] = result["reported"]
    assert report["path"] == "one.txt"
    assert "other content" in report["what"]


@pytest.mark.parametrize("driver", ["the same", "a new one"])
def test_trees_and_what_the_agent_has_staged_are_written_again(tmp_path: Path, driver: str) -> None:
    repo = make_repository(tmp_path / "r")
    before = look(repo)
    write(repo.folder, {"sub/one.txt": GOOD})
    git(repo.folder, "add", "-A")
    after = git(repo.folder, "write-tree").strip()
    folder = git(repo.folder, "rev-parse", f"{after}:sub").strip()
    forge_object(repo.folder, BLOB, EVIL)
    forge_tree(repo.folder, folder, git(repo.folder, "rev-parse", f"{before}:sub").strip())
    forge_tree(repo.folder, after, before)
    assert git(repo.folder, "diff-tree", "-r", before, after) == "", "the forgery works on git"
    repo = repo if driver == "the same" else Git(repo.folder)
    assert look(repo) == after
    assert git(repo.folder, "show", f"{after}:sub/one.txt") == GOOD.decode()
    assert sorted(repo.forged.values()) == ["/", "sub/", "sub/one.txt"]
    git(repo.folder, "fsck", "--strict")


def test_a_forged_pack_or_an_old_tree_is_refused(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    before = look(repo)
    write(repo.folder, {"one.txt": GOOD})
    plant_pack(repo.folder)
    assert git(repo.folder, "cat-file", "blob", BLOB) == EVIL.decode(), "the forgery works on git"
    with pytest.raises(GitError, match=f"the object {BLOB} .one.txt. .* was replaced"):
        look(repo)
    for path in (repo.folder / ".git/objects/pack").iterdir():
        path.unlink()
    after = look(repo)
    write(repo.folder, {"one.txt": b"other\n"})
    forge_tree(repo.folder, after, before)
    with pytest.raises(GitError, match=f"the object {after} .* was replaced"):
        look(repo)


def test_a_forged_pack_is_found_beside_the_true_object(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"one.txt": GOOD})
    tree = look(repo)
    plant_pack(repo.folder)
    assert git(repo.folder, "cat-file", "blob", BLOB) == EVIL.decode(), "git reads packs first"
    assert asyncio.run(find_forged(repo, tree, None)).new == {BLOB: "one.txt"}


@pytest.mark.parametrize("what", ["the blob", "the parent"])
def test_no_commit_is_made_with_an_object_that_is_forged_after_the_checks(tmp_path: Path, what: str) -> None:
    repo = make_repository(tmp_path / "r")
    parent = git(repo.folder, "rev-parse", "HEAD").strip()
    write(repo.folder, {"one.txt": GOOD})
    tree = look(repo)
    asyncio.run(refuse_forged(repo, tree, parent))
    if what == "the blob":
        forge_object(repo.folder, BLOB, EVIL)
    else:
        text = git(repo.folder, "cat-file", "commit", parent).encode()
        text = text.replace(text[5:45], tree.encode())
        place = repo.folder / ".git/objects" / parent[:2] / parent[2:]
        place.unlink()
        place.write_bytes(zlib.compress(b"commit %d\0" % len(text) + text))
    with pytest.raises(GitError, match="was replaced"):
        asyncio.run(refuse_forged(repo, tree, parent))


@pytest.mark.parametrize("is_packed", [False, True])
def test_an_object_of_another_kind_is_forged(tmp_path: Path, *, is_packed: bool) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"blob": GOOD, "tree": b"40000 sub\0" + bytes.fromhex(BLOB)})
    git(repo.folder, "hash-object", "-w", "blob")
    tree = git(repo.folder, "hash-object", "-w", "-t", "tree", "--literally", "tree").strip()
    if is_packed:
        write(repo.folder, {"names": f"{tree}\n{BLOB}\n"})
        git(repo.folder, "-c", "alias.pack=!git pack-objects -q .git/objects/pack/pack < names", "pack")
        git(repo.folder, "prune-packed", "-q")
    assert asyncio.run(find_forged(repo, tree, None)).new == {BLOB: "sub/"}
