"""The token of the web page: kept for the next server, and never one that others could know."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from bridle.views.web.token_file import NAME, read_or_make

OTHER = "0" * 64


def test_a_token_is_made_once_and_kept(tmp_path: Path) -> None:
    home = tmp_path / "home"
    token = read_or_make(home)
    assert len(token) == 64
    assert read_or_make(home) == token
    assert stat.S_IMODE((home / NAME).stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert read_or_make(tmp_path / "other") != token


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o602, 0o700])
def test_a_token_that_others_could_read_or_write_is_replaced(tmp_path: Path, mode: int) -> None:
    (tmp_path / NAME).write_text(OTHER)
    (tmp_path / NAME).chmod(mode)
    assert read_or_make(tmp_path) != OTHER
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["", "short", "x" * 64, OTHER + "0", OTHER * 1000, "\0" * 64])
def test_anything_but_a_token_is_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    (tmp_path / NAME).chmod(0o600)
    token = read_or_make(tmp_path)
    assert token != text
    assert read_or_make(tmp_path) == token


def test_a_link_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text(OTHER)
    target.chmod(0o600)
    (tmp_path / NAME).symlink_to(target)
    assert read_or_make(tmp_path) != OTHER
    assert not (tmp_path / NAME).is_symlink()
    assert target.read_text() == OTHER


def test_a_named_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / NAME, 0o600)
    assert len(read_or_make(tmp_path)) == 64


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_token_of_another_user_is_replaced(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(OTHER)
    (tmp_path / NAME).chmod(0o600)
    os.chown(tmp_path / NAME, 65534, 65534)
    assert read_or_make(tmp_path) != OTHER
    assert (tmp_path / NAME).stat().st_uid == 0
