"""Signatures are made and verified by the real ssh-keygen and gpg, as git is set up."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridle.errors import UsageError
from bridle.loop.evidence.git_keys import read_git_keys
from bridle.loop.evidence.signatures import BAD, GOOD, UNKNOWN_SIGNER, UNSIGNED, Signatures, Verdict
from bridle.workspace.git import Git

DATA = b"what is signed"


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout


def signatures(folder: Path) -> Signatures:
    return Signatures(asyncio.run(read_git_keys(Git(folder))), dict(os.environ))


def sign(folder: Path) -> bytes:
    return asyncio.run(signatures(folder).sign(DATA))[0]


def verify(folder: Path, signature: bytes, data: bytes = DATA) -> Verdict:
    return asyncio.run(signatures(folder).verify(data, signature))


def test_ssh_signs_with_a_file_and_verifies_with_the_allowed_signers(tmp_path: Path) -> None:
    key = tmp_path / "key"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
    run("git", "config", "--global", "gpg.format", "ssh")
    run("git", "config", "--global", "user.signingkey", str(key))
    signature = sign(tmp_path)
    unknown = verify(tmp_path, signature)
    assert (unknown.state, unknown.signer) == (UNKNOWN_SIGNER, None)
    assert str(unknown.key).startswith("ED25519 key SHA256:")
    signers = tmp_path / "signers"
    signers.write_text(f"me@localhost {key.with_suffix('.pub').read_text()}")
    run("git", "config", "--global", "gpg.ssh.allowedSignersFile", str(signers))
    assert verify(tmp_path, signature).signer == "me@localhost"
    assert verify(tmp_path, signature, b"something else").state == BAD
    signers.write_text("")
    assert verify(tmp_path, signature).state == UNKNOWN_SIGNER


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A keyring of its own; the path of the agent's socket must be short."""
    folder = Path(tempfile.mkdtemp(prefix="gpg-"))
    monkeypatch.setenv("GNUPGHOME", str(folder))
    yield folder
    run("gpgconf", "--kill", "all")
    shutil.rmtree(folder, ignore_errors=True)


def test_gpg_signs_and_verifies_with_the_keyring(tmp_path: Path, keyring: Path) -> None:
    run("gpg", "--batch", "--passphrase", "", "--quick-gen-key", "Me <me@localhost>", "ed25519", "sign", "never")
    run("git", "config", "--global", "user.signingkey", "me@localhost")
    signature = sign(tmp_path)
    good = verify(tmp_path, signature)
    assert (good.state, good.signer, good.details) == (GOOD, "Me <me@localhost>", "ultimate")
    assert verify(tmp_path, signature, b"something else").state == BAD
    shutil.rmtree(keyring / "private-keys-v1.d")
    (keyring / "pubring.kbx").unlink()
    assert "is not in your keyring" in verify(tmp_path, signature).details


def test_without_a_key_the_error_has_the_command_that_sets_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        sign(tmp_path)
    assert "user.signingkey is not set" in raised.value.message
    assert "git config --global user.signingkey" in str(raised.value.remedy)
    run("git", "config", "--global", "user.signingkey", str(tmp_path / "missing.pub"))
    run("git", "config", "--global", "gpg.format", "ssh")
    with pytest.raises(UsageError, match="could not sign with"):
        sign(tmp_path)
    run("git", "config", "--global", "gpg.format", "x509")
    with pytest.raises(UsageError, match="must be ssh or openpgp"):
        sign(tmp_path)


def test_what_is_not_a_signature_is_bad(tmp_path: Path) -> None:
    assert verify(tmp_path, b"").state == UNSIGNED
    assert verify(tmp_path, b"no armour").state == BAD
