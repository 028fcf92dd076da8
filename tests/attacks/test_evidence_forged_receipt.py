"""Attack: a receipt is forged, or the key of an agent is passed off as the user's.

The attacker wants `bridle verify` to accept a changed statement, a commit that no check has seen, or a signature of its
own key, which the configuration of the repository declares as known. A clone has only the commits and the receipt.

With the sandbox: the same; the files are changed after the run, by a program with your rights.
Without: found.
Reported: by `bridle verify`, with exit code 1.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bridle.cli import main as dispatcher
from bridle.journal.format import codec
from tests.attacks.fixtures.finished_run import GROUP, FinishedRun, copy_finished_run

pytestmark = GROUP


def run(*words: str, cwd: Path | None = None) -> None:
    subprocess.run(words, cwd=cwd, check=True, capture_output=True, timeout=60)


def make_key(name: str) -> Path:
    """Make a key in the home of this test; return the file of allowed signers that names it."""
    home = Path(os.environ["HOME"])
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(home / name))
    signers = home / f"{name}-signers"
    signers.write_text(f'{name}@localhost namespaces="git" {(home / f"{name}.pub").read_text()}')
    return signers


def use_key(name: str) -> None:
    run("git", "config", "--global", "gpg.format", "ssh")
    run("git", "config", "--global", "user.signingkey", str(Path(os.environ["HOME"], f"{name}.pub")))


@pytest.fixture
def here(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    """A finished run of a user with an SSH key, whose receipt is signed, and a clone beside it."""
    here = copy_finished_run(tmp_path, tmp_path_factory)
    signers = make_key("user")
    use_key("user")
    run("git", "config", "--global", "gpg.ssh.allowedSignersFile", str(signers))
    run("git", "clone", "-q", str(here.folder), str(tmp_path / "clone"))
    assert dispatcher.run(["receipt", str(here.run), "--sign", "--out", str(tmp_path / "receipt.json")]) == 0
    return here


class Clone:
    """The clone, in which commands run."""

    def __init__(self, here: FinishedRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = here.folder.parent / "clone"
        self.receipt = here.folder.parent / "receipt.json"
        monkeypatch.chdir(self.folder)
        self._capsys = capsys

    def verify(self, *words: str) -> dict[str, Any]:
        """Run `bridle verify`; without words on the receipt."""
        self._capsys.readouterr()
        code = dispatcher.run(["verify", *(words or (str(self.receipt),)), "--json"])
        document: dict[str, Any] = json.loads(self._capsys.readouterr().out)
        assert (code == 0) == document["ok"]
        return document

    def forge(self, old: str, new: str) -> None:
        """Change the statement in the receipt, and keep its signature."""
        document = json.loads(self.receipt.read_text())
        payload = base64.b64decode(document["payload"]).decode()
        assert old in payload
        document["payload"] = base64.b64encode(payload.replace(old, new).encode()).decode()
        self.receipt.write_text(json.dumps(document))


@pytest.fixture
def clone(here: FinishedRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Clone:
    return Clone(here, monkeypatch, capsys)


def faults(document: dict[str, Any]) -> list[str]:
    return [*document["wrong"], *(fault for commit in document["commits"] for fault in commit["faults"])]


def test_a_clone_with_only_the_receipt_verifies_and_an_amended_commit_does_not(clone: Clone, here: FinishedRun) -> None:
    document = clone.verify()
    assert faults(document) == []
    assert document["receipts"][0]["signature"]["signer"] == "user@localhost"
    assert [commit["task"] for commit in document["commits"]] == ["One", "Two"]
    ranged = clone.verify("origin/main..HEAD", "--receipt", str(clone.receipt))
    assert (ranged["ok"], len(ranged["commits"]), ranged["others"]) == (True, 2, 0)
    assert "neither a receipt nor the run" in faults(clone.verify("HEAD"))[0]
    (clone.folder / "two").write_text("backdoor")
    run("git", "-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-qa", "--amend", "--no-edit")
    [fault] = faults(clone.verify())
    assert "does not name it: it was amended" in fault
    run("git", "-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-q", "--amend", "-m", "no trailers")
    without = clone.verify()
    assert without["not_in_head"] == [document["commits"][-1]["commit"]]
    assert document["not_in_head"] == []
    assert here.folder.is_dir()


def test_a_commit_that_names_the_run_in_another_way_is_not_passed_over(clone: Clone) -> None:
    text = subprocess.run(["git", "log", "-1", "--format=%B"], capture_output=True, text=True, check=True, timeout=60)
    commit = ("git", "-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-q", "--amend", "-m")
    words = ("origin/main..HEAD", "--receipt", str(clone.receipt))
    last = clone.verify(*words)["commits"][0]["commit"]
    for changed in (
        text.stdout.replace("Bridle-Run:", "bridle-run:"),
        text.stdout.replace("Bridle-Run:", "Bridle-Run :"),
        f"{text.stdout}\nOne more paragraph.\n",
    ):
        run(*commit, changed)
        document = clone.verify(*words)
        assert (len(faults(document)), document["others"]) == (1, 0), changed
        assert document["not_in_range"] == [last]
        assert not clone.verify()["ok"], changed


def test_a_run_that_came_with_the_repository_proves_nothing_and_is_not_signed(
    clone: Clone, here: FinishedRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(here.folder)
    assert clone.verify("HEAD")["ok"]
    run("git", "add", "--force", ".a5c", cwd=here.folder)
    [fault] = faults(clone.verify("HEAD"))
    assert "was not begun on this machine" in fault
    assert clone.verify("HEAD", "--receipt", str(clone.receipt))["ok"], "the receipt proves it"
    assert dispatcher.run(["receipt", str(here.run), "--sign"]) == 2
    assert "is not signed: you have not begun this run" in capsys.readouterr().err


def test_a_changed_statement_and_an_unsigned_one_prove_nothing(clone: Clone) -> None:
    text = clone.receipt.read_text()
    clone.forge('"verdict": "done"', '"verdict": "stuck"')
    document = clone.verify()
    assert document["receipts"][0]["signature"]["state"] == "bad"
    assert [commit["proofs"] for commit in document["commits"]] == [[], []]
    clone.receipt.write_bytes(base64.b64decode(json.loads(text)["payload"]))
    assert clone.verify()["receipts"][0]["signature"]["state"] == "unsigned"


def test_a_key_that_only_the_repository_declares_as_known_is_not_known(clone: Clone, here: FinishedRun) -> None:
    signers = make_key("agent")
    use_key("agent")
    assert dispatcher.run(["receipt", str(here.run), "--sign", "--out", str(clone.receipt)]) == 0
    marker = clone.folder / "started"
    (clone.folder / "program").write_text(f"#!/bin/sh\ntouch {marker}\n")
    (clone.folder / "program").chmod(0o755)
    run("git", "config", "gpg.ssh.allowedSignersFile", str(signers))
    run("git", "config", "gpg.ssh.program", str(clone.folder / "program"))
    document = clone.verify()
    assert document["receipts"][0]["signature"]["state"] == "unknown signer"
    assert "the signature is good, but the signer is not known" in faults(document)[0]
    assert not marker.exists()
    assert clone.verify(str(clone.receipt), "--allowed-signers", str(signers))["ok"]


def test_a_journal_that_was_rehashed_does_not_fit_the_receipt_and_is_not_signed(
    clone: Clone, here: FinishedRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(here.folder)
    assert clone.verify()["ok"], "beside the run, too"
    last = here.entries[-1]
    last.write_bytes(last.read_bytes().replace(b"Z", b"z", 1))
    assert any(last.name in fault for fault in faults(clone.verify()))
    assert dispatcher.run(["receipt", str(here.run), "--sign"]) == 1
    assert "is not signed" in capsys.readouterr().err
    last.write_bytes(last.read_bytes().replace(b"z", b"Z", 1))
    entry = here.read_entry(last)
    last.write_bytes(codec.encode(entry.type, entry.recorded_at, {**entry.data, "more": 1}))
    here.rehash()
    assert any("is not the one in the receipt" in fault for fault in faults(clone.verify()))
    last.unlink()
    here.rehash()
    assert any("ends before entry" in fault for fault in faults(clone.verify()))
