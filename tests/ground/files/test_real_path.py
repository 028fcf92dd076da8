"""A resolved path is opened without following links; missing folders are created the same way."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from bridle.ground.files import real_path


@pytest.fixture
def base(tmp_path: Path) -> Path:
    base = Path(os.path.realpath(tmp_path))
    (base / "real").mkdir()
    (base / "real" / "file").write_text("text")
    (base / "link").symlink_to("real")
    (base / "real" / "alias").symlink_to("file")
    return base


def test_a_file_is_opened_by_its_resolved_path(base: Path) -> None:
    resolved = real_path.resolve("link/alias", str(base), "/home/me")
    assert resolved == str(base / "real" / "file")
    with open(real_path.open_file(resolved, os.O_RDONLY)) as file:
        assert file.read() == "text"


@pytest.mark.parametrize("name", ["link/file", "real/alias", "link"])
def test_a_link_anywhere_in_the_path_is_not_followed(base: Path, name: str) -> None:
    with pytest.raises(OSError, match=str(base)) as raised:
        real_path.open_file(str(base / name), os.O_RDONLY)
    assert raised.value.errno == errno.ELOOP


def test_missing_folders_are_created_and_never_through_a_link(base: Path) -> None:
    os.close(real_path.open_folder(str(base / "new" / "deep"), create=True))
    assert (base / "new" / "deep").is_dir()
    with pytest.raises(OSError, match="symbolic links"):
        real_path.open_folder(str(base / "link" / "new"), create=True)
    assert not (base / "real" / "new").exists()


@pytest.mark.parametrize(("name", "code"), [("gone/file", errno.ENOENT), ("real/file/x", errno.ENOTDIR)])
def test_errors_name_the_path(base: Path, name: str, code: int) -> None:
    with pytest.raises(OSError, match=str(base)) as raised:
        real_path.open_file(str(base / name), os.O_RDONLY)
    assert raised.value.errno == code


def test_a_child_enters_the_open_folder_and_not_its_name(base: Path) -> None:
    fd = real_path.open_folder(str(base / "real"))
    try:
        os.rename(base / "real", base / "moved")
        (base / "real").symlink_to("/")
        assert sorted(os.listdir(real_path.folder_of_descriptor(fd, str(base / "real")))) == ["alias", "file"]
    finally:
        os.close(fd)


def test_only_links_that_lead_to_each_other_are_a_loop(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("missing")
    found = {
        name: real_path.is_loop(name, str(tmp_path), str(tmp_path)) for name in ("loop", "~/loop/a", "nowhere", "x\0")
    }
    assert found == {"loop": True, "~/loop/a": True, "nowhere": False, "x\0": False}
