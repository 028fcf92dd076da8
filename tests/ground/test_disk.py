from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.errors import DiskError, InternalError
from bridle.ground import disk

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)

# Every write beyond this many bytes fails with EFBIG, as on a disk that fills up midway.
SMALL_FILES = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"


def run_python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_file_is_replaced_as_a_whole_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    disk.write_atomic(path, b"one")
    disk.write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["state.json"]


def test_content_is_synced_before_its_rename_and_the_folder_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    sync, rename = os.fsync, os.replace

    def record_sync(fd: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file")
        sync(fd)

    def record_rename(old: Path, new: Path) -> None:
        steps.append("rename")
        rename(old, new)

    monkeypatch.setattr(os, "fsync", record_sync)
    monkeypatch.setattr(os, "replace", record_rename)
    disk.write_atomic(tmp_path / "state.json", b"one")
    disk.write_new(tmp_path / "new.json", b"one")
    assert steps == ["file", "rename", "folder", "file"]


def test_the_asked_mode_is_kept_whatever_the_mask(tmp_path: Path) -> None:
    code = (
        "import os, sys, pathlib; os.umask(0o077)\n"
        "from bridle.ground import disk; disk.write_atomic(pathlib.Path(sys.argv[1]), b'x', mode=0o644)"
    )
    assert run_python(code, tmp_path / "open").returncode == 0
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o644


def test_the_longest_possible_name_can_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    disk.write_atomic(path, b"x")
    assert path.read_bytes() == b"x"


def test_a_link_is_replaced_and_its_target_untouched(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"precious")
    link = tmp_path / "link"
    link.symlink_to(target)
    disk.write_atomic(link, b"new")
    assert target.read_bytes() == b"precious"
    assert not link.is_symlink()


def test_a_disk_that_fills_up_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"old")
    code = SMALL_FILES + (
        "import sys, pathlib\nfrom bridle.ground import disk\nfrom bridle.errors import DiskError\n"
        "try: disk.write_atomic(pathlib.Path(sys.argv[1]), b'x' * 5000)\n"
        "except DiskError as error: print(error, error.payload)"
    )
    done = run_python(code, path)
    assert str(path) in done.stdout
    assert "ulimit -f" in done.stdout
    assert str(errno.EFBIG) in done.stdout
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["state.json"]


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    code = (
        "import sys, pathlib\nfrom bridle.ground import disk\npath = pathlib.Path(sys.argv[1])\n"
        "turn = 0\n"
        "while True:\n"
        "    turn += 1\n"
        "    disk.write_atomic(path, bytes([97 + turn % 26]) * 300_000)\n"
        "    if turn == 3: print('ready', flush=True)"
    )
    for _ in range(5):
        writer = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        writer.send_signal(signal.SIGKILL)
        writer.wait(timeout=10)
        writer.stdout.close()
        data = path.read_bytes()
        assert len(data) == 300_000
        assert len(set(data)) == 1


def test_a_missing_folder_is_named_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(DiskError) as caught:
        disk.write_atomic(tmp_path / "gone" / "file", b"x")
    assert str(tmp_path / "gone" / "file") in caught.value.message
    assert caught.value.remedy == "Check that the folder exists."
    assert caught.value.payload == errno.ENOENT


def test_exclusive_creation_refuses_what_is_there_even_a_broken_link(tmp_path: Path) -> None:
    path = tmp_path / "log"
    fd = disk.create_exclusive(path)
    try:
        assert not os.get_inheritable(fd)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.close(fd)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for taken in (path, tmp_path / "link"):
        with pytest.raises(DiskError) as caught:
            disk.create_exclusive(taken)
        assert caught.value.payload == errno.EEXIST
    assert not (tmp_path / "nowhere").exists()


def test_every_new_folder_is_private_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir(mode=0o755)
    made = disk.make_private_folder(old / "a" / "b")
    modes = [stat.S_IMODE(folder.stat().st_mode) for folder in (old, old / "a", made)]
    assert modes == [0o755, 0o700, 0o700]
    assert disk.make_private_folder(made) == made


def test_a_file_in_the_place_of_a_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(DiskError, match="could not be created"):
            disk.make_private_folder(path)


def test_a_full_device_is_a_disk_error_that_names_it() -> None:
    fd = os.open("/dev/full", os.O_WRONLY)
    try:
        for write in (disk.write_all, disk.append_line):
            with pytest.raises(DiskError, match="/dev/full") as caught:
                write(fd, b"data")
            assert caught.value.payload == errno.ENOSPC
            assert "Free some space" in (caught.value.remedy or "")
    finally:
        os.close(fd)


def test_write_all_goes_on_after_short_writes() -> None:
    reading, writing = os.pipe()
    data = os.urandom(1_000_000)
    code = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"
    with subprocess.Popen([sys.executable, "-c", code], stdin=reading, stdout=subprocess.PIPE) as child:
        os.close(reading)
        disk.write_all(writing, data)
        os.close(writing)
        assert child.stdout is not None
        assert child.stdout.read() == data


def test_a_line_that_does_not_fit_is_reverted(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    code = SMALL_FILES + (
        "import os, sys, pathlib\nfrom bridle.ground import disk\nfrom bridle.errors import DiskError\n"
        "fd = disk.create_exclusive(pathlib.Path(sys.argv[1]))\n"
        "disk.append_line(fd, b'a' * 600, durable=True)\n"
        "try: disk.append_line(fd, b'b' * 600)\n"
        "except DiskError as error: print(error)\n"
        "disk.append_line(fd, b'c')"
    )
    done = run_python(code, path)
    assert done.returncode == 0, done.stderr
    assert str(path) in done.stdout
    assert path.read_bytes() == b"a" * 600 + b"\nc\n"


def test_a_read_is_bounded_and_never_waits_for_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert disk.read_bounded(tmp_path / "file", 5) == b"12345"
    with pytest.raises(DiskError, match="larger than 4 bytes"):
        disk.read_bounded(tmp_path / "file", 4)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(DiskError, match="not a regular file"):
        disk.read_bounded(tmp_path / "fifo", 5)


def test_a_missing_file_reads_as_none_and_any_other_fault_is_raised(tmp_path: Path) -> None:
    assert disk.read_if_exists(tmp_path / "none", 10) is None
    (tmp_path / "file").write_bytes(b"0123456789")
    assert disk.read_if_exists(tmp_path / "file", 10) == b"0123456789"
    for path, limit in ((tmp_path, 10), (tmp_path / "file", 9), (tmp_path / "file" / "below", 10)):
        with pytest.raises(DiskError):
            disk.read_if_exists(path, limit)


def test_a_part_is_read_from_either_end_and_only_of_regular_files(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"0123456789")
    assert disk.read_part(file, 4) == b"0123"
    assert disk.read_part(file, 4, from_end=True) == b"6789"
    assert disk.read_part(file, 40) == disk.read_part(file, 40, from_end=True) == b"0123456789"
    (tmp_path / "link").symlink_to(file)
    assert disk.read_part(tmp_path / "link", 2) == b"01"
    assert disk.read_part(tmp_path / "link", 2, follow_links=False) is None
    os.mkfifo(tmp_path / "pipe")
    for name in ("none", "pipe", ".", "file/below"):
        assert disk.read_part(tmp_path / name, 4) is None


def test_missing_json_is_none_and_garbage_is_named(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    assert disk.read_json(path) is None
    for garbage in (b"", b'{"a": 1', b"\xff\xfe\xfd", b"[" * 100_000):
        path.write_bytes(garbage)
        with pytest.raises(DiskError) as caught:
            disk.read_json(path)
        assert str(path) in caught.value.message
        assert caught.value.payload == garbage[:4096]


@settings(max_examples=50)  # each example waits for the disk three times
@given(JSON_VALUES)
def test_json_comes_back_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = tmp_path_factory.getbasetemp() / "value.json"
    disk.write_json_atomic(path, value)
    assert disk.read_json(path) == value


def test_a_lone_surrogate_survives_in_a_file_that_is_still_utf8(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    disk.write_json_atomic(path, {"text": "é\udcb2"})
    path.read_bytes().decode("utf-8")
    assert disk.read_json(path) == {"text": "é\udcb2"}


def test_a_value_that_is_not_json_is_our_mistake_and_writes_nothing(tmp_path: Path) -> None:
    for value in ({1, 2}, float("nan")):
        with pytest.raises(InternalError):
            disk.write_json_atomic(tmp_path / "state.json", value)
    assert os.listdir(tmp_path) == []
