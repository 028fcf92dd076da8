"""A file's state is compared with the disk and restored byte for byte, whatever stands in its way."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bridle.errors import DiskError
from bridle.loop.protection.file_states import (
    FILE,
    LIMIT_BYTES,
    LINK,
    PROGRAM,
    Entry,
    describe_change,
    digest_of,
    entry_at,
    exists,
    object_id,
    remove,
    restore,
)

DATA = b"one\r\ntwo\xff\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "copy"
    (place / "a").mkdir(parents=True)
    (place / "a" / "file").write_bytes(DATA)
    (place / "a" / "link").symlink_to("file")
    (place / "run.sh").write_text("true\n")
    (place / "run.sh").chmod(0o755)
    return place


def state(folder: Path, path: str) -> Entry:
    entry = entry_at(folder, path)
    assert entry is not None
    return entry


def test_the_id_of_an_object_is_gits(tmp_path: Path) -> None:
    for algorithm in ("sha1", "sha256"):
        subprocess.run(["git", "init", "-q", f"--object-format={algorithm}", algorithm], cwd=tmp_path, check=True)
        command = ["git", "hash-object", "--no-filters", "--stdin"]
        printed = subprocess.run(command, cwd=tmp_path / algorithm, input=DATA, capture_output=True, check=True).stdout
        name = printed.decode().strip()
        assert object_id(DATA, algorithm) == name
        assert digest_of(name) == algorithm


def test_the_state_of_a_path_has_its_kind(folder: Path) -> None:
    assert state(folder, "a/file") == Entry(FILE, object_id(DATA))
    assert state(folder, "a/link") == Entry(LINK, object_id(b"file"))
    assert state(folder, "run.sh").mode == PROGRAM


def test_a_path_without_a_file_has_no_state(folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    with (folder / "large").open("wb") as file:
        file.truncate(LIMIT_BYTES + 1)
    for path in ("missing", "a", "a/file/below", "loop/below", "n" * 300, "pipe", "large"):
        assert entry_at(folder, path) is None, path[:20]


@pytest.mark.parametrize(
    ("edit", "path", "change"),
    [
        ("true", "a/file", None),
        ("rm a/file", "a/file", "it was deleted"),
        ("rm -r a", "a/file", "it was deleted"),
        ("echo x > a/file", "a/file", "it was changed"),
        (": > a/file", "a/file", "it was emptied"),
        ("ln -sf /etc/passwd a/file", "a/file", "it was replaced by a link to /etc/passwd"),
        ("ln -sf other a/link", "a/link", "it was changed"),
        ("rm a/link; echo file > a/link", "a/link", "it was changed"),
        ("rm a/file; mkdir a/file", "a/file", "it was replaced by something that is not a file"),
        ("rm a/file; mkfifo a/file", "a/file", "it was replaced by something that is not a file"),
        ("truncate -s 9M a/file", "a/file", "it became too large or unreadable"),
        ("mv a b; ln -s b a", "a/file", "its folder a was replaced by a link"),
        ("rm -r a; echo x > a", "a/file", "its folder a was replaced by a file"),
        ("chmod -x run.sh", "run.sh", "it is no longer executable"),
        ("chmod +x a/file", "a/file", "it was made executable"),
    ],
)
def test_a_change_is_described_and_undone(folder: Path, edit: str, path: str, change: str | None) -> None:
    was = state(folder, path)
    place = folder / path
    data = os.fsencode(os.readlink(place)) if was.mode == LINK else place.read_bytes()
    subprocess.run(["sh", "-c", edit], cwd=folder, check=True)
    assert describe_change(folder, path, was) == change
    staging = folder.parent / "staging"
    staging.mkdir()
    restore(folder, path, was, data, staging=staging)
    assert describe_change(folder, path, was) is None
    assert list(staging.iterdir()) == []


def test_a_restore_writes_through_no_link(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    was = state(folder, "a/file")
    subprocess.run(["sh", "-c", f"rm -r a; ln -s {outside} a"], cwd=folder, check=True)
    restore(folder, "a/file", was, DATA, staging=tmp_path)
    assert (outside / "file").read_text() == "mine"
    assert (folder / "a" / "file").read_bytes() == DATA


def test_a_restore_to_another_disk_is_atomic_too(folder: Path) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == folder.stat().st_dev:
        memory = folder.parent  # there is no second disk here; the usual way is tested once more
    staging = memory / f"bridle-{os.getpid()}"
    staging.mkdir()
    try:
        was = state(folder, "a/file")
        (folder / "a" / "file").unlink()
        restore(folder, "a/file", was, DATA, staging=staging)
        assert list(staging.iterdir()) == []
    finally:
        staging.rmdir()
    assert describe_change(folder, "a/file", was) is None
    assert sorted(path.name for path in (folder / "a").iterdir()) == ["file", "link"]


def test_a_path_that_cannot_be_restored_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="cannot restore"):
        restore(folder, "n" * 300, Entry(FILE, object_id(b"")), b"", staging=tmp_path)
    assert not list(tmp_path.glob("*.tmp"))


def test_removal_takes_a_folder_a_file_and_a_link_but_never_its_target(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").touch()
    (folder / "out").symlink_to(outside)
    for path in ("a", "run.sh", "out/x", "missing"):
        remove(folder, path)
    assert list(folder.iterdir()) == []
    assert (outside / "x").exists()


def test_a_broken_link_exists(folder: Path) -> None:
    (folder / "broken").symlink_to("nowhere")
    assert exists(folder, "broken")
    assert not exists(folder, "nowhere")
